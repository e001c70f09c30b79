// capture/cpython/referents.h: what an object of C code holds, asked of it as the garbage collector asks.
#ifndef STATOR_CAPTURE_CPYTHON_REFERENTS_H
#define STATOR_CAPTURE_CPYTHON_REFERENTS_H

#include <string_view>
#include <vector>

#include "capture/cpython/python.h"

namespace stator::cpython {

// Adds all that it holds; borrowed.
inline void add_referents(PyObject* object, std::vector<PyObject*>& found) {
  const visitproc add = [](PyObject* referent, void* list) {
    static_cast<std::vector<PyObject*>*>(list)->push_back(referent);
    return 0;
  };
  if (Py_TYPE(object)->tp_traverse != nullptr) Py_TYPE(object)->tp_traverse(object, add, &found);
}

// The mapping behind a view of it: types.MappingProxyType, or a dictionary's keys, values or items. Borrowed.
inline PyObject* mapping_of_view(PyObject* view) {
  PyObject* found = nullptr;
  const visitproc first = [](PyObject* object, void* result) {
    auto** slot = static_cast<PyObject**>(result);
    if (*slot == nullptr) *slot = object;
    return 0;
  };
  Py_TYPE(view)->tp_traverse(view, first, static_cast<void*>(&found));
  return found;
}

// The dictionary in which functools.lru_cache keeps its results: the last one that it holds, but for that of
// its attributes. Borrowed; nullptr for a cache of size 0.
inline PyObject* dict_of_cache(PyObject* cache) {
  struct Search {
    PyObject *attributes, *found;
  };
  PyObject** slot = _PyObject_GetDictPtr(cache);
  Search search{slot != nullptr ? *slot : nullptr, nullptr};
  const visitproc last = [](PyObject* object, void* data) {
    auto* at = static_cast<Search*>(data);
    if (PyDict_CheckExact(object) && object != at->attributes) at->found = object;
    return 0;
  };
  Py_TYPE(cache)->tp_traverse(cache, last, static_cast<void*>(&search));
  return search.found;
}

// Where an entry of a cache with a limit (functools._lru_list_elem) keeps this result; nullptr: it is no such
// entry, or has another result. The result is its last field.
inline PyObject** result_in_link(PyObject* entry, PyObject* result) {
  if (std::string_view(Py_TYPE(entry)->tp_name) != "functools._lru_list_elem") return nullptr;
  auto** const fields = reinterpret_cast<PyObject**>(entry);
  const auto count = static_cast<size_t>(Py_TYPE(entry)->tp_basicsize) / sizeof(PyObject*);
  PyObject** const last = fields + count - 1;
  return *last == result ? last : nullptr;
}

}  // namespace stator::cpython

#endif
