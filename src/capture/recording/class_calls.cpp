// capture/recording/class_calls.cpp: a class is called: who makes its instances, and what is known of them.
#include "capture/recording/class_calls.h"

#include "capture/cpython/exported.h"
#include "capture/cpython/python_class.h"
#include "capture/policy/native_table.h"
#include "capture/recording/attributes.h"
#include "capture/recording/calls.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/contents.h"
#include "capture/recording/random_numbers.h"
#include "capture/recording/reads.h"
#include "capture/recording/recording.h"

namespace stator {

// Whether what makes instances of a class is Python code, or C code of Python's own static types. Classes of
// extension modules (pybind11's among them) are heap types too, and nobody knows what their constructors do.
static bool is_made_by_python(PyTypeObject* type) {
  for (const char* name : {"__new__", "__init__"}) {
    auto key = Ref<>::steal(PyUnicode_InternFromString(name));
    auto found = Ref<>::share(key ? _PyType_Lookup(type, key.get()) : nullptr);
    if (found && Py_IS_TYPE(found.get(), &PyStaticMethod_Type)) {
      found = Ref<>::steal(PyObject_GetAttrString(found.get(), "__func__"));
    }
    PyTypeObject* maker = nullptr;
    if (!found) return false;
    if (PyFunction_Check(found.get())) continue;
    if (Py_IS_TYPE(found.get(), &PyWrapperDescr_Type)) maker = PyDescr_TYPE(found.get());
    if (PyCFunction_Check(found.get())) {
      PyObject* self = reinterpret_cast<PyCFunctionObject*>(found.get())->m_self;
      if (self != nullptr && PyType_Check(self)) maker = reinterpret_cast<PyTypeObject*>(self);
    }
    if (maker == nullptr || maker->tp_flags & Py_TPFLAGS_HEAPTYPE) return false;
  }
  return true;
}

// What the C code of a base sees of the arguments that make an instance.
static Sight sight_of_constructor(PyTypeObject* type) {
  const auto is_a = [&](PyTypeObject* base) { return PyType_IsSubtype(type, base) != 0; };
  if (is_a(&PyDict_Type)) return Sight::pairs;
  if (is_a(&PyList_Type) || is_a(&PyTuple_Type)) return Sight::items;
  if (PyExceptionClass_Check(reinterpret_cast<PyObject*>(type))) return Sight::nothing;  // keeps them
  while (type->tp_base != nullptr && cpython::is_python_class(type)) type = type->tp_base;
  return type == &PyBaseObject_Type ? Sight::nothing : Sight::everything;
}

// The functions that will be called, under whatever names they were defined.
static bool pin_constructors(Recording& recording, PyTypeObject* type) {
  static PyObject* const names[] = {PyUnicode_InternFromString("__new__"),
                                    PyUnicode_InternFromString("__init__")};
  for (PyObject* name : names) {
    PyObject* const found = _PyType_Lookup(type, name);
    const bool is_python =
        found != nullptr && (PyFunction_Check(found) || Py_IS_TYPE(found, &PyStaticMethod_Type));
    if (is_python && !pin_class_attribute(recording, type, found, name)) return false;
  }
  return true;
}

bool before_class_call(Recording& recording, PyTypeObject* type, PyObject* const* arguments,
                       Py_ssize_t count) {
  // A class: what its metaclass, __new__ and __init__ do is Python code that is captured as it runs, or C
  // code of a base.
  auto* const callable = reinterpret_cast<PyObject*>(type);
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE) && !PyExceptionClass_Check(callable))
    return stop(recording, BreakCode::kUnknownFunction, text_of_call(callable));
  if (!is_made_by_python(type) && !is_seeded_generator(type, arguments, count))
    return stop(recording, BreakCode::kUnknownFunction, text_of_call(callable));
  if (type->tp_finalize != nullptr || type->tp_del != nullptr)
    return stop(recording, BreakCode::kFinalizer, std::string("a ") + type->tp_name + " is made");
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(type->tp_mro); i++) {
    auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(type->tp_mro, i));
    PyObject* object = reinterpret_cast<PyObject*>(base);
    if (!(base->tp_flags & Py_TPFLAGS_HEAPTYPE) && find_native_call(object) == nullptr &&
        base != &PyBaseObject_Type && !PyExceptionClass_Check(object)) {
      const std::string_view name = base->tp_name;
      if (name != "collections.OrderedDict" && name != "typing.Generic")
        return stop(recording, BreakCode::kUnknownFunction, text_of_call(callable));
    }
  }
  const Sight sight = sight_of_constructor(type);
  for (Py_ssize_t i = 0; i < count; i++) {
    if (!read_argument(recording, arguments[i], sight)) return false;
  }
  recording.known.constructed.insert(type);
  return read_type(recording, type) && read_type(recording, Py_TYPE(callable)) &&
         pin_constructors(recording, type);
}

}  // namespace stator
