// capture/objects/tensor.h: tensors of the domain.
#ifndef STATOR_CAPTURE_OBJECTS_TENSOR_H
#define STATOR_CAPTURE_OBJECTS_TENSOR_H

#include "capture/recording/object_kind.h"
#include "capture/recording/recording.h"

namespace stator {

struct TensorKind {
  static bool includes(const Recording& recording, PyObject* object) {
    return recording.domain.is_tensor(object);
  }
  static const ObjectKind row;
};

}  // namespace stator

#endif
