// capture/arguments/argument_paths.h: containers and instances among the call's arguments, found again on
// every call by their place.
#ifndef STATOR_CAPTURE_ARGUMENTS_ARGUMENT_PATHS_H
#define STATOR_CAPTURE_ARGUMENTS_ARGUMENT_PATHS_H

#include <unordered_map>
#include <vector>

#include "capture/cpython/ordered_dict.h"
#include "capture/cpython/ref.h"

namespace stator {

// Dictionaries that a copy can stand for.
inline bool is_plain_dict(PyObject* value) {
  return PyDict_CheckExact(value) || (PyODict_CheckExact(value) && cpython::order_is_readable());
}

// The dictionary of an instance, made if there is none yet; nothing for objects without one.
inline Ref<> attributes_of(PyObject* object) {
  auto dict = Ref<>::steal(PyObject_GenericGetDict(object, nullptr));
  if (!dict) PyErr_Clear();
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

// Where a container stands: in which argument, and under which indexes and keys. A key that is nothing leads
// from an instance to its dictionary, the number of a cell from a function to what that holds, and any key
// from a bound method to its object.
struct GivenPath {
  size_t argument = 0;
  std::vector<Ref<>> keys;
  // Borrowed. The arguments are like the captured ones, so every step is there.
  PyObject* find(PyObject* const* arguments) const;
};

class GivenContainers {
 public:
  // `stands` is the copy that stood for `real` in the capture, if there was one.
  void add(PyObject* stands, PyObject* real, const GivenPath& path);
  // An argument as a whole, whatever it is.
  void put(PyObject* stands, size_t argument) { paths_.emplace(stands, GivenPath{argument, {}}); }
  const GivenPath* find(PyObject* stands) const {
    const auto found = paths_.find(stands);
    return found == paths_.end() ? nullptr : &found->second;
  }

 private:
  std::unordered_map<PyObject*, GivenPath> paths_;
};

}  // namespace stator

#endif
