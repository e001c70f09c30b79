// bindings/capture/identity.h: a callable of ours takes over the name of the one it stands for.
#ifndef STATOR_BINDINGS_CAPTURE_IDENTITY_H
#define STATOR_BINDINGS_CAPTURE_IDENTITY_H

#include "capture/cpython/python.h"

namespace stator {

// What functools.update_wrapper copies, for callables that have it. False with a Python error set.
bool copy_identity(PyObject* to, PyObject* from);

}  // namespace stator

#endif
