// capture/programs/argument_functions.h: what a function among the arguments is made of.
#ifndef STATOR_CAPTURE_PROGRAMS_ARGUMENT_FUNCTIONS_H
#define STATOR_CAPTURE_PROGRAMS_ARGUMENT_FUNCTIONS_H

#include "capture/cpython/exported.h"
#include "capture/cpython/ref.h"

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

// Calls visit(part) for each default and for what each cell holds, in this order, until one gives false.
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
