// capture/programs/function_spec.cpp: describing and matching functions.
#include "capture/programs/function_spec.h"

namespace stator {
namespace {

// Calls visit(value) for what a function is made of, in a fixed order; stops where it says false.
template <class Visit>
bool all_defaults(PyFunctionObject* function, Visit&& visit) {
  PyObject* defaults = function->func_defaults;
  for (Py_ssize_t i = 0; defaults != nullptr && i < PyTuple_GET_SIZE(defaults); i++) {
    if (!visit(PyTuple_GET_ITEM(defaults, i))) return false;
  }
  return true;
}

template <class Visit>
bool all_keyword_defaults(PyFunctionObject* function, Visit&& visit) {
  PyObject *key, *value;
  Py_ssize_t position = 0;
  while (function->func_kwdefaults != nullptr &&
         PyDict_Next(function->func_kwdefaults, &position, &key, &value)) {
    if (!visit(key) || !visit(value)) return false;
  }
  return true;
}

template <class Visit>
bool all_cells(PyFunctionObject* function, Visit&& visit) {
  PyObject* closure = function->func_closure;
  for (Py_ssize_t i = 0; closure != nullptr && i < PyTuple_GET_SIZE(closure); i++) {
    if (!visit(PyCell_GET(PyTuple_GET_ITEM(closure, i)))) return false;
  }
  return true;
}

template <class All>
bool match(PyFunctionObject* function, const std::vector<ExpectedValue>& expected, All&& all) {
  size_t next = 0;
  const bool same = all(
      function, [&](PyObject* value) { return next < expected.size() && expected[next++].matches(value); });
  return same && next == expected.size();
}

}  // namespace

FunctionSpec::FunctionSpec(PyFunctionObject* function)
    : code_(function->func_code), globals_(function->func_globals) {
  const auto into = [](std::vector<ExpectedValue>& values) {
    return [&values](PyObject* value) {
      values.push_back(expect(value));
      return true;
    };
  };
  all_defaults(function, into(defaults_));
  all_keyword_defaults(function, into(keyword_defaults_));
  all_cells(function, into(cells_));
}

bool FunctionSpec::matches(PyFunctionObject* function) const {
  if (function->func_code != code_ || function->func_globals != globals_) return false;
  return match(function, defaults_, [](auto* f, auto&& v) { return all_defaults(f, v); }) &&
         match(function, keyword_defaults_, [](auto* f, auto&& v) { return all_keyword_defaults(f, v); }) &&
         match(function, cells_, [](auto* f, auto&& v) { return all_cells(f, v); });
}

}  // namespace stator
