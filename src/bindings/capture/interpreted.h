// bindings/capture/interpreted.h: the callable that `stator.interpret` returns.
#ifndef STATOR_BINDINGS_CAPTURE_INTERPRETED_H
#define STATOR_BINDINGS_CAPTURE_INTERPRETED_H

#include "capture/cpython/python.h"

namespace stator {

// Adds the type `Interpreted` and the function `interpret` to the module. False with an error set.
bool add_interpreted(PyObject* module);

}  // namespace stator

#endif
