// capture/cpython/instance_dict.h: the dictionary of an instance in a form whose writes change its version.
#ifndef STATOR_CAPTURE_CPYTHON_INSTANCE_DICT_H
#define STATOR_CAPTURE_CPYTHON_INSTANCE_DICT_H

#include "capture/cpython/layout.h"
#include "capture/cpython/ref.h"

namespace stator::cpython {

// Where the object keeps its dictionary, made if there is none yet; nullptr for objects without one, or with
// an error set. From 3.13 on a dictionary may share the values that lie inside the object, and attribute
// writes go past it: a key that is no string makes it a table of its own, and stays no longer than that
// takes.
inline PyObject** noticing_dict(PyObject* object) {
  PyObject** slot = _PyObject_GetDictPtr(object);
  if (slot == nullptr) return nullptr;
  if (*slot == nullptr) {
    auto made = Ref<>::steal(PyObject_GenericGetDict(object, nullptr));
    if (!made) return nullptr;
    slot = _PyObject_GetDictPtr(object);
  }
#if STATOR_PY >= 313
  PyObject* key = Py_Ellipsis;
  if (PyDict_SetItem(*slot, key, key) < 0 || PyDict_DelItem(*slot, key) < 0) return nullptr;
#endif
  return slot;
}

}  // namespace stator::cpython

#endif
