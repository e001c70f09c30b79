// capture/policy/special_methods.cpp: what C code calls when it looks a method up on the class of an object.
#include "capture/policy/special_methods.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "capture/cpython/exported.h"
#include "capture/cpython/interrupts.h"
#include "capture/cpython/module_attribute.h"
#include "capture/cpython/type_dict.h"

namespace stator {
namespace {

// Calls of instances and subscripts of classes are looked at where they happen; the last one only describes.
constexpr std::string_view kLookedAtElsewhere[] = {"__call__", "__class_getitem__", "__wrapped__"};

std::string_view text_of(PyObject* name) {
  Py_ssize_t size = 0;
  const char* text = PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, &size) : nullptr;
  if (text == nullptr) drop_error();
  return text != nullptr ? std::string_view(text, static_cast<size_t>(size)) : std::string_view();
}

bool is_special(PyObject* name) {
  const std::string_view text = text_of(name);
  return text.size() > 4 && text.starts_with("__") && text.ends_with("__") &&
         std::find(std::begin(kLookedAtElsewhere), std::end(kLookedAtElsewhere), text) ==
             std::end(kLookedAtElsewhere);
}

// What C code calls of a class: the slots that types in C fill under these names, and what it looks up by
// name. A descriptor of any other such name (`__dict__`, `__members__`, `__array_interface__`) gives what is
// looked at, and not called.
bool is_called(PyObject* name) {
  static const std::unordered_set<std::string_view> names = [] {
    std::unordered_set<std::string_view> found = {
        "__matmul__",       "__rmatmul__",     "__imatmul__",     "__missing__",       "__enter__",
        "__exit__",         "__aenter__",      "__aexit__",       "__format__",        "__round__",
        "__trunc__",        "__floor__",       "__ceil__",        "__bytes__",         "__complex__",
        "__fspath__",       "__length_hint__", "__reversed__",    "__instancecheck__", "__subclasscheck__",
        "__dir__",          "__sizeof__",      "__reduce__",      "__reduce_ex__",     "__getstate__",
        "__setstate__",     "__copy__",        "__deepcopy__",    "__set_name__",      "__init_subclass__",
        "__subclasshook__", "__prepare__",     "__mro_entries__", "__array__"};
    for (PyTypeObject* type : {&PyLong_Type, &PyFloat_Type, &PyUnicode_Type, &PyList_Type, &PyDict_Type,
                               &PySet_Type, &PyType_Type, &PyProperty_Type, &PyGen_Type, &PyCoro_Type,
                               &PyAsyncGen_Type, &PyBaseObject_Type, &PyDictKeys_Type}) {
      const Ref<> dict = cpython::type_dict(type);
      PyObject *key, *value;
      Py_ssize_t position = 0;
      while (PyDict_Next(dict.get(), &position, &key, &value)) {
        if (Py_IS_TYPE(value, &PyWrapperDescr_Type)) found.insert(text_of(key));
      }
    }
    return found;
  }();
  return names.contains(text_of(name));
}

// The function that a classmethod or staticmethod holds; anything else is itself.
Ref<> inside(PyObject* method) {
  if (!Py_IS_TYPE(method, &PyClassMethod_Type) && !Py_IS_TYPE(method, &PyStaticMethod_Type))
    return Ref<>::share(method);
  auto function = Ref<>::steal(PyObject_GetAttrString(method, "__func__"));
  if (!function) drop_error();
  return function;
}

bool is_seen(PyObject* name, PyObject* value) {
  if (PyFunction_Check(value) || PyInstanceMethod_Check(value) || Py_IS_TYPE(value, &PyWrapperDescr_Type) ||
      Py_IS_TYPE(value, &PyMethodDescr_Type) || Py_IS_TYPE(value, &PyGetSetDescr_Type) ||
      Py_IS_TYPE(value, &PyMemberDescr_Type) || Py_IS_TYPE(value, &PyClassMethodDescr_Type))
    return true;
  const Ref<> function = inside(value);
  if (!function) return false;
  if (function.get() != value && PyFunction_Check(function.get())) return true;
  if (PyCFunction_Check(function.get())) {
    // `__new__ = object.__new__`: the class is called by what the capture knows of that. A protocol between a
    // library and its own C code: the domain answers for it.
    PyObject* const self = PyCFunction_GET_SELF(function.get());
    if (text_of(name) == "__new__" || (!is_called(name) && (self == nullptr || PyModule_Check(self))))
      return true;
  }
  const bool only_gives = PyType_Check(value) || !PyCallable_Check(value);
  return only_gives &&
         (!is_called(name) || (Py_TYPE(value)->tp_descr_get == nullptr && !PyType_Check(value)));
}

}  // namespace

PyObject* unseen_special_method(PyTypeObject* type) {
  for (Py_ssize_t i = 0; type->tp_mro != nullptr && i < PyTuple_GET_SIZE(type->tp_mro); i++) {
    auto* const base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(type->tp_mro, i));
    if (!(base->tp_flags & Py_TPFLAGS_HEAPTYPE) || base->tp_flags & Py_TPFLAGS_IMMUTABLETYPE) continue;
    const Ref<> dict = cpython::type_dict(base);
    PyObject *name, *value;
    Py_ssize_t position = 0;
    while (PyDict_Next(dict.get(), &position, &name, &value)) {
      if (!PyFunction_Check(value) && is_special(name) && !is_seen(name, value)) return name;
    }
  }
  return nullptr;
}

bool subscripts_plainly(PyTypeObject* type) {
  static PyObject* const name = PyUnicode_InternFromString("__class_getitem__");
  static PyObject* const alias = module_attribute("types", "GenericAlias").release();
  const auto makes_alias = [](PyObject* function) {
    return alias != nullptr && PyType_Check(function) &&
           PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(function),
                            reinterpret_cast<PyTypeObject*>(alias));
  };
  PyObject* const method = _PyType_Lookup(type, name);
  if (method == nullptr || Py_IS_TYPE(method, &PyClassMethodDescr_Type)) return true;
  const Ref<> function = inside(method);
  return function && (PyFunction_Check(function.get()) || makes_alias(function.get()));
}

}  // namespace stator
