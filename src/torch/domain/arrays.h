// src/torch/domain/arrays.h: NumPy's arrays in captured code: torch's NumPy layer computes with tensors on
// their memory.
#pragma once

#include <torch/csrc/python_headers.h>

#include "capture/domain.h"

namespace stator {

// The classes and functions of both libraries, once stator/runtime/arrays.py has found them; nullptr before,
// and where arrays are not followed.
const ArrayForms* array_forms();

// Whether captures that begin now follow arrays.
void trace_arrays(bool on);

// Whether it is a dtype or a number of NumPy's, which never change.
bool is_array_constant(PyObject* object);
// Whether calling it makes such a constant.
bool makes_array_constant(PyObject* callable);

// `numpy`: the module; `layer`: torch._numpy.ndarray; `layer_dtype` and `dtypes`: the class of its dtypes,
// and NumPy's by their scalar types; `from_array`: a tensor on an array's memory; `to_array`
// and `to_result`: what a program sees of a tensor of the layer, the second one where it was computed.
void follow_arrays(PyObject* numpy, PyObject* layer, PyObject* layer_dtype, PyObject* dtypes,
                   PyObject* from_array, PyObject* to_array, PyObject* to_result);

}  // namespace stator
