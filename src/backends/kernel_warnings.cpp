// src/backends/kernel_warnings.cpp: from torch's warnings to Python's.
#include "backends/kernel_warnings.h"

#include <torch/csrc/python_headers.h>

#include <string>
#include <unordered_map>
#include <utility>
#include <variant>

#include "capture/cpython/ref.h"

namespace stator {
namespace {

PyObject* category_of(const c10::Warning& warning) {
  return std::holds_alternative<c10::DeprecationWarning>(warning.type()) ? PyExc_DeprecationWarning
                                                                         : PyExc_UserWarning;
}

// The words of torch's own bindings.
std::string text_of(const c10::Warning& warning) {
  const c10::SourceLocation& place = warning.source_location();
  if (place.file == nullptr || warning.verbatim()) return warning.msg();
  return warning.msg() + " (Triggered internally at " + place.file + ":" + std::to_string(place.line) + ".)";
}

// The globals of the module that was loaded from a file; null if there is none.
PyObject* globals_of(const std::string& file) {
  static std::unordered_map<std::string, Ref<>> names;  // guarded by the GIL; names of modules found before
  static PyObject* const file_key = PyUnicode_InternFromString("__file__");
  PyObject* const modules = PyImport_GetModuleDict();
  const auto wanted = Ref<>::steal(PyUnicode_DecodeFSDefault(file.c_str()));
  const auto globals_if_wanted = [&](PyObject* module) -> PyObject* {
    if (module == nullptr || !PyModule_Check(module)) return nullptr;
    PyObject* const globals = PyModule_GetDict(module);
    PyObject* const found = PyDict_GetItemWithError(globals, file_key);
    const bool is_wanted =
        found != nullptr && PyUnicode_Check(found) && PyUnicode_Compare(found, wanted.get()) == 0;
    return is_wanted ? globals : nullptr;
  };
  if (!wanted) return nullptr;
  if (const auto known = names.find(file); known != names.end()) {
    if (PyObject* globals = globals_if_wanted(PyDict_GetItemWithError(modules, known->second.get())))
      return globals;
  }
  PyObject *name, *module;
  Py_ssize_t position = 0;
  while (PyDict_Next(modules, &position, &name, &module)) {
    PyObject* const globals = globals_if_wanted(module);
    if (globals == nullptr) continue;
    names[file] = Ref<>::share(name);
    return globals;
  }
  return nullptr;
}

// Where Python notes what was shown already. Code that no module was loaded from shares one for each file.
Ref<> registry_in(PyObject* globals, const std::string& file) {
  static PyObject* const others = PyDict_New();
  const auto key = globals != nullptr ? Ref<>::steal(PyUnicode_InternFromString("__warningregistry__"))
                                      : Ref<>::steal(PyUnicode_DecodeFSDefault(file.c_str()));
  const auto made = Ref<>::steal(PyDict_New());
  if (!key || !made) return {};
  return Ref<>::share(PyDict_SetDefault(globals != nullptr ? globals : others, key.get(), made.get()));
}

bool show_at(const UserLines& lines, LineId id, PyObject* category, PyObject* text) {
  const UserLine& line = lines[id];
  const std::string& file = lines.text(line.file);
  PyObject* const globals = globals_of(file);
  const Ref<> registry = registry_in(globals, file);
  const auto path = Ref<>::steal(PyUnicode_DecodeFSDefault(file.c_str()));
  if (!registry || !path) return false;
  PyObject* const module = globals != nullptr ? PyDict_GetItemString(globals, "__name__") : nullptr;
  return PyErr_WarnExplicitObject(category, text, path.get(), line.line, module, registry.get()) == 0;
}

}  // namespace

bool KernelWarnings::show(const ir::Graph& graph, size_t& node) {
  for (const Noted& noted : std::exchange(noted_, {})) {
    node = noted.node;
    const std::string words = text_of(noted.warning);
    const auto text =
        Ref<>::steal(PyUnicode_DecodeUTF8(words.data(), static_cast<Py_ssize_t>(words.size()), "replace"));
    if (!text) return false;
    PyObject* const category = category_of(noted.warning);
    const LineId line =
        at_ != nullptr && node < graph.nodes().size() ? graph.nodes()[node].line : LineId::kNone;
    const bool shown = line != LineId::kNone ? show_at(graph.lines(), line, category, text.get())
                                             : PyErr_WarnEx(category, words.c_str(), 1) == 0;
    if (!shown) return false;
  }
  return true;
}

}  // namespace stator
