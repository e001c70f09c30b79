// capture/interpreter/specialised.cpp: what CPython's specialised instructions do with less recursion than
// the C API.
#include "capture/interpreter/specialised.h"

#include "capture/cpython/exported.h"
#include "capture/cpython/interrupts.h"
#include "capture/cpython/ref.h"
#include "capture/cpython/traits.h"
#include "capture/interpreter/calls.h"

namespace stator {
namespace {

constexpr int kConventions =
    METH_VARARGS | METH_FASTCALL | METH_NOARGS | METH_O | METH_KEYWORDS | METH_METHOD;

PyCFunction length_function() {
  static const PyCFunction function = [] {
    PyObject* builtins = PyImport_AddModule("builtins");  // also where the frame has none
    auto length = Ref<>::steal(builtins != nullptr ? PyObject_GetAttrString(builtins, "len") : nullptr);
    drop_error();
    return length && PyCFunction_CheckExact(length.get()) ? PyCFunction_GET_FUNCTION(length.get()) : nullptr;
  }();
  return function;
}

PyFunctionObject* python_function(PyObject* object) {
  return object != nullptr && is_python_function(object) ? reinterpret_cast<PyFunctionObject*>(object)
                                                         : nullptr;
}

}  // namespace

bool counts_no_level(PyObject* callable, Py_ssize_t count, PyObject* keywords) {
  if (PyCFunction_CheckExact(callable)) {
    switch (PyCFunction_GET_FLAGS(callable) & kConventions) {
      case METH_FASTCALL:
        return keywords == nullptr;
      case METH_FASTCALL | METH_KEYWORDS:
        return cpython::kKeywordCallsAreSpecialised || keywords == nullptr;
      case METH_O:
        return keywords == nullptr && count == 1 && PyCFunction_GET_FUNCTION(callable) == length_function();
      default:
        return false;
    }
  }
  if (Py_IS_TYPE(callable, &PyMethodDescr_Type)) {
    const int flags = reinterpret_cast<PyMethodDescrObject*>(callable)->d_method->ml_flags & kConventions;
    return keywords == nullptr && count > 0 && (flags & ~METH_KEYWORDS) == METH_FASTCALL;
  }
  return cpython::kCallsOfStrCount && callable == reinterpret_cast<PyObject*>(&PyUnicode_Type) &&
         count == 1 && keywords == nullptr;
}

PyFunctionObject* entered_by_subscript(PyObject* container) {
  PyTypeObject* const type = Py_TYPE(container);
  static PyObject* const name = PyUnicode_InternFromString("__getitem__");
  return name != nullptr ? python_function(_PyType_Lookup(type, name)) : nullptr;
}

PyFunctionObject* getter_entered_by(PyObject* owner, PyObject* name) {
  PyTypeObject* const type = Py_TYPE(owner);
  if (type->tp_getattro != PyObject_GenericGetAttr) return nullptr;
  PyObject* const found = _PyType_Lookup(type, name);
  if (found == nullptr || !Py_IS_TYPE(found, &PyProperty_Type)) return nullptr;
  return python_function(stator_property_getter(found));
}

PyFunctionObject* getattribute_entered_by(PyObject* owner) {
  PyTypeObject* const type = Py_TYPE(owner);
  static PyObject* const first = PyUnicode_InternFromString("__getattribute__");
  static PyObject* const last = PyUnicode_InternFromString("__getattr__");
  if (first == nullptr || last == nullptr) return nullptr;
  if (type->tp_getattro == PyObject_GenericGetAttr || !PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE))
    return nullptr;
  return _PyType_Lookup(type, last) == nullptr ? python_function(_PyType_Lookup(type, first)) : nullptr;
}

PyFunctionObject* init_entered_by(PyObject* callable, Py_ssize_t count) {
  if (!PyType_Check(callable) || !Py_IS_TYPE(callable, &PyType_Type)) return nullptr;
  auto* const type = reinterpret_cast<PyTypeObject*>(callable);
  if (type->tp_new != PyBaseObject_Type.tp_new || type->tp_alloc != PyType_GenericAlloc ||
      !PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) || !cpython::has_inline_values(type))
    return nullptr;
  static PyObject* const name = PyUnicode_InternFromString("__init__");
  PyFunctionObject* const init = name != nullptr ? python_function(_PyType_Lookup(type, name)) : nullptr;
  if (init == nullptr) return nullptr;
  const auto* const code = reinterpret_cast<PyCodeObject*>(init->func_code);
  return only_positional(code) && code->co_argcount == count + 1 ? init : nullptr;
}

PyObject* make_empty(PyObject* callable) {
  static PyObject* const no_arguments = PyTuple_New(0);
  return no_arguments != nullptr
             ? PyBaseObject_Type.tp_new(reinterpret_cast<PyTypeObject*>(callable), no_arguments, nullptr)
             : nullptr;
}

bool is_result_of_init(PyObject* result) {
  if (result != Py_None)
    PyErr_Format(PyExc_TypeError, "__init__() should return None, not '%.200s'", Py_TYPE(result)->tp_name);
  const bool is = result == Py_None;
  Py_DECREF(result);
  return is;
}

}  // namespace stator
