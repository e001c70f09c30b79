// capture/objects/deque.h: deques of collections.
#ifndef STATOR_CAPTURE_OBJECTS_DEQUE_H
#define STATOR_CAPTURE_OBJECTS_DEQUE_H

#include "capture/recording/contents.h"
#include "capture/recording/object_kind.h"

namespace stator {

struct DequeKind {
  static bool includes(const Recording&, PyObject* object) { return is_deque(object); }
  static const ObjectKind row;
};

}  // namespace stator

#endif
