// capture/cpython/attribute_lookup.h: whether an object has an attribute.
#ifndef STATOR_CAPTURE_CPYTHON_ATTRIBUTE_LOOKUP_H
#define STATOR_CAPTURE_CPYTHON_ATTRIBUTE_LOOKUP_H

#include "capture/cpython/interrupts.h"
#include "capture/cpython/ref.h"

namespace stator {

// As PyObject_HasAttr, which would lose interrupts.
inline bool has_attribute(PyObject* object, PyObject* name) {
  PyObject* value = nullptr;
#if PY_VERSION_HEX >= 0x030D0000
  if (PyObject_GetOptionalAttr(object, name, &value) < 0) drop_error();
#else
  if (_PyObject_LookupAttr(object, name, &value) < 0) drop_error();
#endif
  Py_XDECREF(value);
  return value != nullptr;
}

inline bool has_attribute(PyObject* object, const char* name) {
  const auto text = Ref<>::steal(PyUnicode_InternFromString(name));
  if (!text) drop_error();
  return text && has_attribute(object, text.get());
}

}  // namespace stator

#endif
