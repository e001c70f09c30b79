// capture/objects/slice.h: slices.
#ifndef STATOR_CAPTURE_OBJECTS_SLICE_H
#define STATOR_CAPTURE_OBJECTS_SLICE_H

#include "capture/recording/object_kind.h"

namespace stator {

struct SliceKind {
  static bool includes(const Recording&, PyObject* object) { return PySlice_Check(object); }
  static const ObjectKind row;
};

}  // namespace stator

#endif
