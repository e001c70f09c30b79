// capture/objects/class.h: classes.
#ifndef STATOR_CAPTURE_OBJECTS_CLASS_H
#define STATOR_CAPTURE_OBJECTS_CLASS_H

#include "capture/recording/object_kind.h"

namespace stator {

struct ClassKind {
  static bool includes(const Recording&, PyObject* object) { return PyType_Check(object); }
  static const ObjectKind row;
};

}  // namespace stator

#endif
