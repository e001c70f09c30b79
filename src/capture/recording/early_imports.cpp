// capture/recording/early_imports.cpp: whether a module may be loaded before the program that imports it has
// begun, though the program writes to something first.
//
// A module that is loaded sees the state of modules: their variables and classes, and what hangs on those. So
// it may be loaded early if nothing of the kind was written that it can know. What can know what:
// modules of Python's own know each other; parts of a package know the package and Python's own.
#include "capture/recording/early_imports.h"

#include <string>

#include "capture/cpython/interrupts.h"
#include "capture/cpython/type_dict.h"
#include "capture/recording/recording.h"
#include "capture/recording/sources.h"

namespace stator {
namespace {

std::string package_in(PyObject* name) {
  const char* path = name != nullptr && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : nullptr;
  drop_error();
  const std::string whole = path != nullptr ? path : "";
  return whole.substr(0, whole.find('.'));
}

// The package that an object is the state of: a module, its variables, a class or a function; or nothing.
std::string home_of(PyObject* object) {
  static PyObject* const name_key = PyUnicode_InternFromString("__name__");
  static PyObject* const spec_key = PyUnicode_InternFromString("__spec__");
  static PyObject* const module_key = PyUnicode_InternFromString("__module__");
  if (PyModule_Check(object)) object = PyModule_GetDict(object);
  if (PyFunction_Check(object)) return package_in(reinterpret_cast<PyFunctionObject*>(object)->func_module);
  if (PyType_Check(object))
    return package_in(cpython::own_attribute(reinterpret_cast<PyTypeObject*>(object), module_key));
  if (!PyDict_CheckExact(object) || PyDict_GetItemWithError(object, spec_key) == nullptr) return {};
  return package_in(PyDict_GetItemWithError(object, name_key));
}

bool is_of_python(const std::string& package) {
  PyObject* names = PySys_GetObject("stdlib_module_names");
  const auto name = Ref<>::steal(PyUnicode_FromString(package.c_str()));
  const bool found = names != nullptr && name && PySequence_Contains(names, name.get()) == 1;
  drop_error();
  return found;
}

}  // namespace

bool may_be_loaded_early(const Recording& recording, const std::string& path) {
  const std::string package = path.substr(0, path.find('.'));
  const auto home_of_frame = [](const cpython::Frame* frame) {
    return PyFunction_Check(frame->function) ? home_of(frame->globals) : std::string();
  };
  // The function that imports: not the part of importlib that does so for it.
  const cpython::Frame* importer = recording.frame;
  const auto is_importlib = [](const std::string& home) {
    return home == "importlib" || home == "_frozen_importlib";
  };
  while (importer != recording.first_frame && importer->previous != nullptr &&
         is_importlib(home_of_frame(importer)))
    importer = importer->previous;
  if (!is_of_python(package) && home_of_frame(importer) != package) return false;
  // The domain's own functions note what they have loaded; that is not what the loaded part looks at.
  const bool is_domain = package == recording.domain.package();
  if (!is_domain && home_of_frame(recording.first_frame) == package) return false;
  for (const auto& written : recording.journal.written()) {
    PyObject* object = written->object.get();
    for (size_t steps = 0; object != nullptr && steps < kLongestSource; steps++) {
      const std::string home = home_of(object);
      if (!home.empty() && (is_of_python(home) || (home == package && !is_domain))) return false;
      const auto origin = recording.known.pinned.find(object);
      object = origin == recording.known.pinned.end() ? nullptr : origin->second.parent;
    }
  }
  return true;
}

}  // namespace stator
