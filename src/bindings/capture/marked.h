// bindings/capture/marked.h: the type of callables that a user has marked.
#ifndef STATOR_BINDINGS_CAPTURE_MARKED_H
#define STATOR_BINDINGS_CAPTURE_MARKED_H

#include "capture/cpython/python.h"

namespace stator {

bool add_marked(PyObject* module);

}  // namespace stator

#endif
