// capture/objects/array.h: what stands for arrays of another library that the domain computes with, and for
// their dtypes.
#ifndef STATOR_CAPTURE_OBJECTS_ARRAY_H
#define STATOR_CAPTURE_OBJECTS_ARRAY_H

#include "capture/domain.h"
#include "capture/recording/object_kind.h"
#include "capture/recording/recording.h"

namespace stator {

struct ArrayKind {
  static bool includes(const Recording& recording, PyObject* object) {
    const ArrayForms* const forms = recording.domain.arrays();
    return forms != nullptr &&
           (forms->tensor_in(object) != nullptr || forms->dtype_behind(object) != nullptr);
  }
  static const ObjectKind row;
};

}  // namespace stator

#endif
