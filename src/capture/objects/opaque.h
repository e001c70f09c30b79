// capture/objects/opaque.h: modules, properties and wrappers of special methods: compared and called, not
// looked into.
#ifndef STATOR_CAPTURE_OBJECTS_OPAQUE_H
#define STATOR_CAPTURE_OBJECTS_OPAQUE_H

#include "capture/cpython/method_wrapper.h"
#include "capture/recording/object_kind.h"

namespace stator {

struct OpaqueKind {
  static bool includes(const Recording&, PyObject* object) {
    return PyModule_Check(object) || Py_IS_TYPE(object, &PyProperty_Type) ||
           cpython::is_method_wrapper(object);
  }
  static const ObjectKind row;
};

}  // namespace stator

#endif
