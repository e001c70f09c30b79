// capture/recording/imports.cpp: an import of a module that is loaded already is a read of sys.modules.
#include "capture/recording/imports.h"

#include "capture/cpython/interrupts.h"
#include "capture/cpython/module_attribute.h"
#include "capture/recording/attributes.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/early_imports.h"
#include "capture/recording/known_objects.h"
#include "capture/recording/reads.h"
#include "capture/recording/recording.h"

namespace stator {

static bool want_import(Recording& recording, const std::string& path);
static bool read_module(Recording& recording, const std::string& path);

using cpython::Frame;

bool imports_plainly(PyObject* function) {
  if (function == nullptr || !PyCFunction_CheckExact(function)) return false;
  const auto* const builtin = reinterpret_cast<PyCFunctionObject*>(function);
  return builtin->m_self != nullptr && PyModule_Check(builtin->m_self) &&
         std::string_view(builtin->m_ml->ml_name) == "__import__" &&
         std::string_view(PyModule_GetName(builtin->m_self)) == "builtins";
}

// The package that a relative import begins in: `level` - 1 above that of the frame's module.
static bool package_of(Recording& recording, Frame* frame, int level, std::string& package) {
  static PyObject* const package_key = PyUnicode_InternFromString("__package__");
  static PyObject* const spec_key = PyUnicode_InternFromString("__spec__");
  if (!read_dict_item(recording, frame->globals, package_key) ||
      !read_dict_item(recording, frame->globals, spec_key))
    return false;
  PyObject* name = PyDict_GetItemWithError(frame->globals, package_key);
  PyObject* spec = PyDict_GetItemWithError(frame->globals, spec_key);
  // Where the two tell of different packages a warning is due; without a package it follows from other names.
  Ref<> parent;
  if (spec != nullptr && spec != Py_None) {
    static PyObject* const parent_name = PyUnicode_InternFromString("parent");
    if (!read_attribute(recording, spec, parent_name)) return false;
    // A property: its frame comes and goes here, and once more in the import itself.
    cpython::Frame* const running = recording.frame;
    const Instruction* const at = recording.at;
    parent = Ref<>::steal(PyObject_GetAttr(spec, parent_name));
    recording.frame = running;
    recording.at = at;
    if (recording.stopped.happened()) return false;
  }
  drop_error();
  const char* utf8 = name != nullptr && PyUnicode_CheckExact(name) ? PyUnicode_AsUTF8(name) : nullptr;
  if (utf8 == nullptr || (parent && PyObject_RichCompareBool(parent.get(), name, Py_EQ) != 1)) {
    drop_error();
    return stop(recording, BreakCode::kImport, "a relative import in a module whose package is not clear");
  }
  package = utf8;
  for (; level > 1 && !package.empty(); level--) {
    const size_t dot = package.rfind('.');
    package.resize(dot == std::string::npos ? 0 : dot);
  }
  return !package.empty() || stop(recording, BreakCode::kException, "a relative import beyond the package");
}

bool before_import(Recording& recording, Frame* frame, PyObject* name, PyObject* level) {
  if (!PyDict_CheckExact(frame->builtins))
    return stop(recording, BreakCode::kUnguardable, "builtins that are no dictionary");
  static PyObject* const function_name = PyUnicode_InternFromString("__import__");
  if (function_name == nullptr || !read_dict_item(recording, frame->builtins, function_name)) return false;
  if (!imports_plainly(PyDict_GetItemWithError(frame->builtins, function_name)))
    return stop(recording, BreakCode::kImport, "__import__ is not Python's own");
  std::string path = PyUnicode_AsUTF8(name);
  if (const int above = static_cast<int>(PyLong_AsLong(level)); above != 0) {
    std::string package;
    if (!package_of(recording, frame, above, package)) return false;
    path = path.empty() ? package : package + "." + path;
  }
  return read_module(recording, path);
}

// A module that is loaded already is one read of sys.modules; for a.b.c the packages above it are read too.
static bool read_module(Recording& recording, const std::string& path) {
  // `from a import b` looks for a submodule b with this function of Python's, where a is a package.
  static PyObject* const look_for_submodules =
      module_attribute("_frozen_importlib", "_handle_fromlist").release();
  if (look_for_submodules == nullptr) return false;
  if (!is_pinned(recording, look_for_submodules))
    pin(recording, look_for_submodules,
        {Origin::root, nullptr, Ref<>::steal(PyUnicode_FromString("importlib._handle_fromlist"))});
  PyObject* modules = PyImport_GetModuleDict();
  for (size_t end = path.find('.');; end = path.find('.', end + 1)) {
    auto part = Ref<>::steal(PyUnicode_FromStringAndSize(
        path.data(), static_cast<Py_ssize_t>(end == std::string::npos ? path.size() : end)));
    if (!part) return false;
    if (PyDict_GetItemWithError(modules, part.get()) == nullptr) return want_import(recording, path);
    if (!is_pinned(recording, modules)) {
      pin(recording, modules, {Origin::root, nullptr, Ref<>::steal(PyUnicode_FromString("sys.modules"))});
    }
    if (!read_dict_item(recording, modules, part.get())) return false;
    if (end == std::string::npos) return true;
  }
}

// Loading a module runs code that is no part of the program, once in a process. It can be done before the
// capture begins anew; where the module might see what the program has written by then, this call is run as
// it is, and the next one captured.
static bool want_import(Recording& recording, const std::string& path) {
  if (recording.locks.empty() && (recording.journal.empty() || may_be_loaded_early(recording, path)))
    recording.wanted_import = path;
  if (!recording.stopped.happened()) recording.stopped.module = path;
  return stop(recording, BreakCode::kImport, "an import of " + path);
}

bool before_import_call(Recording& recording, PyObject* const* arguments, Py_ssize_t count) {
  const bool is_absolute =
      recording.keywords == 0 &&
      (count < 5 || (PyLong_CheckExact(arguments[4]) && PyLong_AsLong(arguments[4]) == 0));
  const char* path =
      is_absolute && count >= 1 && PyUnicode_Check(arguments[0]) ? PyUnicode_AsUTF8(arguments[0]) : nullptr;
  drop_error();
  return path != nullptr ? read_module(recording, path)
                         : stop(recording, BreakCode::kImport, "a call of __import__");
}

// importlib.import_module() and the like end in a function of Python's own, where nothing is loaded yet.
bool before_loading(Recording& recording, PyFunctionObject* function, PyObject* name) {
  static PyObject* const loads = module_attribute("_frozen_importlib", "_find_and_load").release();
  if (loads == nullptr) return false;
  if (reinterpret_cast<PyObject*>(function) != loads || name == nullptr || !PyUnicode_Check(name))
    return true;
  if (PyDict_GetItemWithError(PyImport_GetModuleDict(), name) != nullptr) return true;
  const char* path = PyUnicode_AsUTF8(name);
  return path != nullptr && want_import(recording, path);
}

}  // namespace stator
