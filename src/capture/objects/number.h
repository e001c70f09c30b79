// capture/objects/number.h: numbers that are symbols of the capture.
#ifndef STATOR_CAPTURE_OBJECTS_NUMBER_H
#define STATOR_CAPTURE_OBJECTS_NUMBER_H

#include "capture/recording/object_kind.h"
#include "capture/recording/recording.h"

namespace stator {

struct NumberKind {
  static bool includes(const Recording& recording, PyObject* object) {
    return recording.domain.is_symbolic(object);
  }
  static const ObjectKind row;
};

}  // namespace stator

#endif
