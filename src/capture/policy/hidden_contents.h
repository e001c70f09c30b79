// capture/policy/hidden_contents.h: classes whose instances hold what only C code knows.
#ifndef STATOR_CAPTURE_POLICY_HIDDEN_CONTENTS_H
#define STATOR_CAPTURE_POLICY_HIDDEN_CONTENTS_H

#include "capture/cpython/python.h"

namespace stator {

// Whether operators or C functions can show something of an instance that no guard looks at: of array.array,
// ctypes, subclasses of bytearray or numpy.ndarray, containers of pybind11. Numbers, texts and what is made
// of Python classes alone hide nothing; nor does an object that can only be told from others.
bool hides_contents(PyTypeObject* type);

// Whether C code that shows, compares or calls an instance goes on to the objects that it holds: getters,
// descriptors and partials.
bool shows_referents(const PyTypeObject* type);

}  // namespace stator

#endif
