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

struct ForClass {
  PyObject* type;
  PyObject* function;
};

std::unordered_map<PyObject*, ForClass>& class_table() {
  static auto* const functions = new std::unordered_map<PyObject*, ForClass>;
  return *functions;
}

bool holds_instance(PyObject* const* values, Py_ssize_t count, PyTypeObject* type, bool inside) {
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject* value = values[i];
    if (Py_IS_TYPE(value, type)) return true;
    const bool is_sequence = PyList_CheckExact(value) || PyTuple_CheckExact(value);
    if (inside && is_sequence &&
        holds_instance(PySequence_Fast_ITEMS(value), PySequence_Fast_GET_SIZE(value), type, false))
      return true;
  }
  return false;
}

// Never freed, as their functions are.
std::unordered_set<const PyCodeObject*>& codes() {
  static auto* const all = new std::unordered_set<const PyCodeObject*>;
  return *all;
}

}  // namespace

static void note_code(PyObject* function) {
  if (!PyFunction_Check(function)) return;
  PyObject* code = PyFunction_GET_CODE(function);
  if (codes().insert(reinterpret_cast<PyCodeObject*>(code)).second) Py_INCREF(code);
}

void substitute(PyObject* original, PyObject* function) {
  const auto [row, is_new] = table().try_emplace(original, nullptr);
  if (is_new) Py_INCREF(original);
  Py_XSETREF(row->second, Py_NewRef(function));
  note_code(function);
}

void substitute_for(PyObject* original, PyObject* type, PyObject* function) {
  const auto [row, is_new] = class_table().try_emplace(original, ForClass{nullptr, nullptr});
  if (is_new) Py_INCREF(original);
  Py_XSETREF(row->second.type, Py_NewRef(type));
  Py_XSETREF(row->second.function, Py_NewRef(function));
  note_code(function);
}

// The functions live on: captures that were made with them may.
void forget_substitute(PyObject* original) {
  table().erase(original);
  class_table().erase(original);
}

bool is_substitute(const PyCodeObject* code) { return codes().count(code) != 0; }

PyObject* substitute_of(PyObject* callable) {
  if (table().empty()) return nullptr;
  const auto found = table().find(callable);
  return found != table().end() ? found->second : nullptr;
}

PyObject* substitute_of_call(PyObject* callable, PyObject* const* arguments, Py_ssize_t count) {
  if (class_table().empty()) return nullptr;
  const auto found = class_table().find(callable);
  if (found == class_table().end()) return nullptr;
  auto* type = reinterpret_cast<PyTypeObject*>(found->second.type);
  return holds_instance(arguments, count, type, true) ? found->second.function : nullptr;
}

}  // namespace stator
