// bindings/capture/compiled.h: the callable behind stator.compile.
#ifndef STATOR_BINDINGS_CAPTURE_COMPILED_H
#define STATOR_BINDINGS_CAPTURE_COMPILED_H

#include "capture/cpython/python.h"

namespace stator {

// Adds the type `Compiled` and the capsule through which a domain is installed. False with an error set.
bool add_compiled(PyObject* module);

}  // namespace stator

#endif
