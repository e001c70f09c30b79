// capture/guards/function_parts.h: what a function is made of, beside its code and globals.
#ifndef STATOR_CAPTURE_GUARDS_FUNCTION_PARTS_H
#define STATOR_CAPTURE_GUARDS_FUNCTION_PARTS_H

#include <vector>

#include "capture/cpython/exported.h"
#include "capture/guards/expected_value.h"

namespace stator {

// All that it has is its code, globals, defaults and cells: another one with the same does the same.
inline bool is_plain_function(PyObject* value) {
  if (!PyFunction_Check(value)) return false;
  const auto* function = reinterpret_cast<PyFunctionObject*>(value);
  const auto* code = reinterpret_cast<PyCodeObject*>(function->func_code);
  PyObject* closure = function->func_closure;
  for (Py_ssize_t i = 0; closure != nullptr && i < PyTuple_GET_SIZE(closure); i++) {
    if (PyCell_GET(PyTuple_GET_ITEM(closure, i)) == nullptr) return false;
  }
  return function->func_name == code->co_name && function->func_qualname == code->co_qualname &&
         (function->func_dict == nullptr || PyDict_GET_SIZE(function->func_dict) == 0);
}

// The names of the defaults that go by name.
inline std::vector<Ref<>> keyword_names(PyObject* value) {
  std::vector<Ref<>> names;
  PyObject *name, *item;
  Py_ssize_t position = 0;
  PyObject* keywords = reinterpret_cast<PyFunctionObject*>(value)->func_kwdefaults;
  while (keywords != nullptr && PyDict_Next(keywords, &position, &name, &item))
    names.push_back(Ref<>::share(name));
  return names;
}

inline bool has_keyword_names(PyObject* value, const std::vector<Ref<>>& names) {
  size_t count = 0;
  PyObject *name, *item;
  Py_ssize_t position = 0;
  PyObject* keywords = reinterpret_cast<PyFunctionObject*>(value)->func_kwdefaults;
  while (keywords != nullptr && PyDict_Next(keywords, &position, &name, &item)) {
    if (count == names.size() || !expect(names[count++].get()).matches(name)) return false;
  }
  return count == names.size();
}

// Calls visit(part) for each default and for what each cell holds (nullptr: nothing), in this order, until
// one gives false.
template <class Visit>
bool each_part(PyObject* value, Visit&& visit) {
  const auto* function = reinterpret_cast<PyFunctionObject*>(value);
  PyObject* defaults = function->func_defaults;
  for (Py_ssize_t i = 0; defaults != nullptr && i < PyTuple_GET_SIZE(defaults); i++) {
    if (!visit(PyTuple_GET_ITEM(defaults, i))) return false;
  }
  PyObject *name, *item;
  Py_ssize_t position = 0;
  while (function->func_kwdefaults != nullptr &&
         PyDict_Next(function->func_kwdefaults, &position, &name, &item)) {
    if (!visit(item)) return false;
  }
  PyObject* closure = function->func_closure;
  for (Py_ssize_t i = 0; closure != nullptr && i < PyTuple_GET_SIZE(closure); i++) {
    if (!visit(PyCell_GET(PyTuple_GET_ITEM(closure, i)))) return false;
  }
  return true;
}

}  // namespace stator

#endif
