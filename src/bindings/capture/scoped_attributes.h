// bindings/capture/scoped_attributes.h: attributes that hold for the time of one call.
#ifndef STATOR_BINDINGS_CAPTURE_SCOPED_ATTRIBUTES_H
#define STATOR_BINDINGS_CAPTURE_SCOPED_ATTRIBUTES_H

#include "capture/cpython/python.h"

namespace stator {

// `stator._capture.call_with_attributes(owner, attributes, function, *arguments)`. What a `with` statement
// and a generator do in Python code, an interrupt can leave half done: it comes between any two instructions.
bool add_scoped_attributes(PyObject* module);

}  // namespace stator

#endif
