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

// A type of a module that nobody imports here: an import runs Python code, which may be captured and ask the
// same again. As long as the module is not loaded there are no objects of the type.
class TypeInModule {
 public:
  constexpr TypeInModule(const char* module, const char* name) : module_(module), name_(name) {}
  // Borrowed, and kept for good. nullptr: there is none.
  PyTypeObject* get() {
    if (type_ == nullptr) look();
    return type_;
  }
  bool has_instance(PyObject* object) { return get() != nullptr && PyObject_TypeCheck(object, type_); }

 private:
  void look() {
    const auto text = Ref<>::steal(PyUnicode_FromString(module_));
    const auto module = Ref<>::steal(text ? PyImport_GetModule(text.get()) : nullptr);
    Ref<> found = Ref<>::steal(module ? PyObject_GetAttrString(module.get(), name_) : nullptr);
    if (!found || !PyType_Check(found.get())) return drop_error();
    type_ = reinterpret_cast<PyTypeObject*>(found.release());
  }

  const char *module_, *name_;
  PyTypeObject* type_ = nullptr;
};

}  // namespace stator

#endif
