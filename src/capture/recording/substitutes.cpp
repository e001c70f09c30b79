// capture/recording/substitutes.cpp: Python functions that are captured in place of others, as the user said.
#include "capture/recording/substitutes.h"

#include <unordered_map>

namespace stator {
namespace {

std::unordered_map<PyObject*, PyObject*>& table() {
  static auto* const functions = new std::unordered_map<PyObject*, PyObject*>;
  return *functions;
}

}  // namespace

void substitute(PyObject* original, PyObject* function) {
  const auto [row, is_new] = table().try_emplace(original, nullptr);
  if (is_new) Py_INCREF(original);
  Py_XSETREF(row->second, Py_NewRef(function));
}

PyObject* substitute_of(PyObject* callable) {
  if (table().empty()) return nullptr;
  const auto found = table().find(callable);
  return found != table().end() ? found->second : nullptr;
}

}  // namespace stator
