// capture/objects/partial.h: partials of functools.
#ifndef STATOR_CAPTURE_OBJECTS_PARTIAL_H
#define STATOR_CAPTURE_OBJECTS_PARTIAL_H

#include "capture/recording/contents.h"
#include "capture/recording/object_kind.h"

namespace stator {

struct PartialKind {
  static bool includes(const Recording&, PyObject* object) { return is_partial(object); }
  static const ObjectKind row;
};

}  // namespace stator

#endif
