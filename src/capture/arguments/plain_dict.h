// capture/arguments/plain_dict.h: dictionaries, and those of instances, as arguments hold them.
#ifndef STATOR_CAPTURE_ARGUMENTS_PLAIN_DICT_H
#define STATOR_CAPTURE_ARGUMENTS_PLAIN_DICT_H

#include "capture/cpython/exported.h"
#include "capture/cpython/interrupts.h"
#include "capture/cpython/ordered_dict.h"
#include "capture/cpython/ref.h"

namespace stator {

// An OrderedDict may have attributes, which a copy of its items has not.
inline bool is_without_attributes(PyObject* ordered) {
  PyObject** const slot = _PyObject_GetDictPtr(ordered);
  return slot == nullptr || *slot == nullptr || PyDict_GET_SIZE(*slot) == 0;
}

// Dictionaries that a copy can stand for.
inline bool is_plain_dict(PyObject* value) {
  return PyDict_CheckExact(value) ||
         (PyODict_CheckExact(value) && cpython::order_is_readable() && is_without_attributes(value));
}

// The dictionary of an instance, made if there is none yet; null for objects without one.
inline Ref<> attributes_of(PyObject* object) {
  auto dict = Ref<>::steal(PyObject_GenericGetDict(object, nullptr));
  if (!dict) drop_error();
  return dict;
}

// Calls `visit(key, value)` (borrowed) in the order of iteration until it gives false.
template <class Visit>
bool each_pair(PyObject* dict, Visit&& visit) {
  if (PyODict_Check(dict)) {
    for (const cpython::OrderNode* node = cpython::ordered(dict)->first; node != nullptr; node = node->next) {
      PyObject* value = PyDict_GetItemWithError(dict, node->key);
      if (value == nullptr || !visit(node->key, value)) return false;
    }
    return true;
  }
  PyObject *key, *value;
  Py_ssize_t position = 0;
  while (PyDict_Next(dict, &position, &key, &value)) {
    if (!visit(key, value)) return false;
  }
  return true;
}

}  // namespace stator

#endif
