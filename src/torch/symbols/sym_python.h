// src/torch/symbols/sym_python.h: symbolic numbers as captured Python code sees them.
#pragma once

#include "capture/cpython/ref.h"
#include "torch/symbols/sym_number.h"

namespace stator {

// An int or float as Python sees it: a plain one, or an instance of a subclass of torch.SymInt or
// torch.SymFloat whose arithmetic is done in C++. Arithmetic stays symbolic; comparisons and truth are
// decided at once by the values at capture and guarded; where C code asks for the number itself (an index, a
// hash, a text) the value is guarded. `isinstance(n, int)` holds, as in eager code.
Ref<> to_python(const SymNumber& number);

// A symbolic number of torch's classes or of ours, but for ragged sizes.
bool is_sym_number(PyObject* object);
// The size of a nested tensor in its ragged dimension, or what torch keeps for it.
bool is_ragged_size(PyObject* object);

// What stands for a torch.SymInt, SymFloat or SymBool that torch's bindings made, also inside a tuple, which
// is changed in place; null if the object may stay. An error may be set.
Ref<> in_place_of(PyObject* object);

// Whether a frame of this code belongs to torch's own classes of symbolic numbers: it is run, not captured.
bool is_sym_number_code(PyCodeObject* code);

// Nothing where it is no number.
std::optional<SymNumber> number_of(PyObject* object);

}  // namespace stator
