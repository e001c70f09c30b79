// capture/objects/function.h: Python functions.
#ifndef STATOR_CAPTURE_OBJECTS_FUNCTION_H
#define STATOR_CAPTURE_OBJECTS_FUNCTION_H

#include "capture/recording/object_kind.h"

namespace stator {

struct FunctionKind {
  static bool includes(const Recording&, PyObject* object) { return PyFunction_Check(object); }
  static const ObjectKind row;
};

}  // namespace stator

#endif
