// capture/objects/set.h: sets and frozensets.
#ifndef STATOR_CAPTURE_OBJECTS_SET_H
#define STATOR_CAPTURE_OBJECTS_SET_H

#include "capture/recording/object_kind.h"

namespace stator {

struct SetKind {
  static bool includes(const Recording&, PyObject* object) { return PyAnySet_Check(object); }
  static const ObjectKind row;
};

}  // namespace stator

#endif
