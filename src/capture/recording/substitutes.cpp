// capture/recording/substitutes.cpp: Python functions that are captured in place of others, as the user said.
#include "capture/recording/substitutes.h"

#include <unordered_map>
#include <unordered_set>

namespace stator {
namespace {

std::unordered_map<PyObject*, PyObject*>& table() {
  static auto* const functions = new std::unordered_map<PyObject*, PyObject*>;
  return *functions;
}

// Never freed, as their functions are.
std::unordered_set<const PyCodeObject*>& codes() {
  static auto* const all = new std::unordered_set<const PyCodeObject*>;
  return *all;
}

}  // namespace

void substitute(PyObject* original, PyObject* function) {
  const auto [row, is_new] = table().try_emplace(original, nullptr);
  if (is_new) Py_INCREF(original);
  Py_XSETREF(row->second, Py_NewRef(function));
  if (!PyFunction_Check(function)) return;
  PyObject* code = PyFunction_GET_CODE(function);
  if (codes().insert(reinterpret_cast<PyCodeObject*>(code)).second) Py_INCREF(code);
}

bool is_substitute(const PyCodeObject* code) { return codes().count(code) != 0; }

PyObject* substitute_of(PyObject* callable) {
  if (table().empty()) return nullptr;
  const auto found = table().find(callable);
  return found != table().end() ? found->second : nullptr;
}

}  // namespace stator
