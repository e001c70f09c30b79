// capture/cpython/type_dict.h: the dictionary of a type, which static types of newer Pythons keep elsewhere.
#ifndef STATOR_CAPTURE_CPYTHON_TYPE_DICT_H
#define STATOR_CAPTURE_CPYTHON_TYPE_DICT_H

#include "capture/cpython/interrupts.h"
#include "capture/cpython/layout.h"
#include "capture/cpython/ref.h"

namespace stator::cpython {

inline Ref<> type_dict(PyTypeObject* type) {
#if STATOR_PY == 311
  return Ref<>::share(type->tp_dict);
#else
  return Ref<>::steal(PyType_GetDict(type));
#endif
}

// What the type itself, none of its bases, defines under the name. Borrowed from the type; nullptr where it
// defines nothing.
inline PyObject* own_attribute(PyTypeObject* type, PyObject* name) {
  PyObject* value = PyDict_GetItemWithError(type_dict(type).get(), name);
  if (value == nullptr) drop_error();
  return value;
}

}  // namespace stator::cpython

#endif
