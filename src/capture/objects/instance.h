// capture/objects/instance.h: instances of any class that has no row of its own.
#ifndef STATOR_CAPTURE_OBJECTS_INSTANCE_H
#define STATOR_CAPTURE_OBJECTS_INSTANCE_H

#include "capture/recording/object_kind.h"

namespace stator {

struct InstanceKind {
  static bool includes(const Recording&, PyObject*) { return true; }
  static constexpr const ObjectKind& row = any_instance;
};

}  // namespace stator

#endif
