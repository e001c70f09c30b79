// capture/recording/imports.cpp: an import of a module that is loaded already is a read of sys.modules.
#include "capture/recording/recording.h"

namespace stator {

using cpython::Frame;

bool Recording::imports_plainly(PyObject* function) {
  if (function == nullptr || !PyCFunction_CheckExact(function)) return false;
  const auto* const builtin = reinterpret_cast<PyCFunctionObject*>(function);
  return builtin->m_self != nullptr && PyModule_Check(builtin->m_self) &&
         std::string_view(builtin->m_ml->ml_name) == "__import__" &&
         std::string_view(PyModule_GetName(builtin->m_self)) == "builtins";
}

bool Recording::before_import(Frame* frame, PyObject* name, PyObject* level) {
  if (!PyDict_CheckExact(frame->builtins))
    return stop(BreakCode::kUnguardable, "builtins that are no dictionary");
  if (!PyLong_CheckExact(level) || PyLong_AsLong(level) != 0)
    return stop(BreakCode::kOpcode, "a relative import");
  static PyObject* const function_name = PyUnicode_InternFromString("__import__");
  if (function_name == nullptr || !read_dict_item(frame->builtins, function_name)) return false;
  if (!imports_plainly(PyDict_GetItemWithError(frame->builtins, function_name)))
    return stop(BreakCode::kImport, "__import__ is not Python's own");
  // `from a import b` looks for a submodule b with this function of Python's, where a is a package.
  static PyObject* const look_for_submodules = [] {
    auto importlib = Ref<>::steal(PyImport_ImportModule("_frozen_importlib"));
    return importlib ? PyObject_GetAttrString(importlib.get(), "_handle_fromlist") : nullptr;
  }();
  if (look_for_submodules == nullptr) return false;
  if (!is_pinned(look_for_submodules))
    pin(look_for_submodules,
        {Origin::root, nullptr, Ref<>::steal(PyUnicode_FromString("importlib._handle_fromlist"))});
  PyObject* modules = PyImport_GetModuleDict();
  // A module that is loaded already is one read of sys.modules; for a.b.c the packages above it are read too.
  std::string path = PyUnicode_AsUTF8(name);
  for (size_t end = path.find('.');; end = path.find('.', end + 1)) {
    auto part = Ref<>::steal(PyUnicode_FromStringAndSize(
        path.data(), static_cast<Py_ssize_t>(end == std::string::npos ? path.size() : end)));
    if (!part) return false;
    if (PyDict_GetItemWithError(modules, part.get()) == nullptr) return want_import(path);
    if (!is_pinned(modules)) {
      pin(modules, {Origin::root, nullptr, Ref<>::steal(PyUnicode_FromString("sys.modules"))});
    }
    if (!read_dict_item(modules, part.get())) return false;
    if (end == std::string::npos) return true;
  }
}

// Loading a module runs code that is no part of the program, once in a process. It can be done before the
// capture begins anew, unless the program has changed something that the module may see.
bool Recording::want_import(const std::string& path) {
  if (journal_.empty() && !holds_locks()) wanted_import_ = path;
  return stop(BreakCode::kImport, "an import of " + path);
}

bool Recording::before_import_call(PyObject* const* arguments, Py_ssize_t count) {
  const char* path = count >= 1 && PyUnicode_Check(arguments[0]) ? PyUnicode_AsUTF8(arguments[0]) : nullptr;
  if (path == nullptr) PyErr_Clear();
  return path != nullptr ? want_import(path) : stop(BreakCode::kImport, "a call of __import__");
}

}  // namespace stator
