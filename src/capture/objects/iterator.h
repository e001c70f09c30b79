// capture/objects/iterator.h: iterators of Python's own.
#ifndef STATOR_CAPTURE_OBJECTS_ITERATOR_H
#define STATOR_CAPTURE_OBJECTS_ITERATOR_H

#include "capture/policy/iterators.h"
#include "capture/recording/object_kind.h"

namespace stator {

struct IteratorObjectKind {
  static bool includes(const Recording&, PyObject* object) { return iterator_kind(object) != nullptr; }
  static const ObjectKind row;
};

}  // namespace stator

#endif
