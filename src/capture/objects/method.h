// capture/objects/method.h: bound methods of Python classes.
#ifndef STATOR_CAPTURE_OBJECTS_METHOD_H
#define STATOR_CAPTURE_OBJECTS_METHOD_H

#include "capture/recording/object_kind.h"

namespace stator {

struct MethodKind {
  static bool includes(const Recording&, PyObject* object) { return PyMethod_Check(object); }
  static const ObjectKind row;
};

}  // namespace stator

#endif
