// capture/cpython/module_attribute.h: what a module of Python's own holds, wherever the program stands.
#ifndef STATOR_CAPTURE_CPYTHON_MODULE_ATTRIBUTE_H
#define STATOR_CAPTURE_CPYTHON_MODULE_ATTRIBUTE_H

#include "capture/cpython/interrupts.h"
#include "capture/cpython/ref.h"

namespace stator {

// PyImport_ImportModule asks the running frame's builtins for `__import__`, and those of code that was made
// by eval, such as the constructor of a named tuple, may be empty.
inline Ref<> module_of(const char* name) {
  const auto text = Ref<>::steal(PyUnicode_FromString(name));
  if (!text) return {};
  // The import gives the package of a module that is inside of one.
  const auto package =
      Ref<>::steal(PyImport_ImportModuleLevelObject(text.get(), nullptr, nullptr, nullptr, 0));
  return Ref<>::steal(package ? PyImport_GetModule(text.get()) : nullptr);
}

inline Ref<> module_attribute(const char* module, const char* name) {
  const Ref<> found = module_of(module);
  return Ref<>::steal(found ? PyObject_GetAttrString(found.get(), name) : nullptr);
}

// A type; borrowed, and kept for good. nullptr: there is none.
inline PyTypeObject* type_in_module(const char* module, const char* name) {
  Ref<> found = module_attribute(module, name);
  if (!found) drop_error();
  return reinterpret_cast<PyTypeObject*>(found.release());
}

}  // namespace stator

#endif
