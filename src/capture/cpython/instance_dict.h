// capture/cpython/instance_dict.h: the dictionary of an instance in a form whose writes change its version.
#ifndef STATOR_CAPTURE_CPYTHON_INSTANCE_DICT_H
#define STATOR_CAPTURE_CPYTHON_INSTANCE_DICT_H

#include "capture/cpython/layout.h"
#include "capture/cpython/ref.h"

namespace stator::cpython {

// Where the object keeps its dictionary; nullptr for objects without one, or with an error set. Attributes of
// Python's classes may lie inside of the object: their dictionary is made. Objects of C types (a partial, a
// function) tell C code whether they have one yet: theirs is left as it is, and may be null. From 3.13 on a
// dictionary may share the values that lie inside the object, and attribute writes go past it: a key that is
// no string makes it a table of its own, and stays no longer than that takes.
inline PyObject** noticing_dict(PyObject* object) {
  PyObject** slot = _PyObject_GetDictPtr(object);
  if (slot == nullptr) return nullptr;
  if (*slot == nullptr && (Py_TYPE(object)->tp_flags & Py_TPFLAGS_MANAGED_DICT) == 0) return slot;
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
