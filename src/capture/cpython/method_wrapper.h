// capture/cpython/method_wrapper.h: recognises bound slot wrappers such as `(1).__add__`.
#ifndef STATOR_CAPTURE_CPYTHON_METHOD_WRAPPER_H
#define STATOR_CAPTURE_CPYTHON_METHOD_WRAPPER_H

#include "capture/cpython/ref.h"

namespace stator::cpython {

inline bool is_method_wrapper(PyObject* object) {
  // Not every CPython exports the type. It is static, so it outlives the object that it is read from.
  static PyTypeObject* const type = Py_TYPE(Ref<>::steal(PyObject_GetAttrString(Py_None, "__str__")).get());
  return Py_IS_TYPE(object, type);
}

}  // namespace stator::cpython

#endif
