// src/torch/replacements/wrapper_class.cpp: the call is one node, which every run makes on its own tensors.
#include "torch/replacements/wrapper_class.h"

#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/pybind.h>

#include "capture/cpython/python_class.h"
#include "torch/tracing/session.h"
#include "torch/tracing/wrapper_tensors.h"

namespace stator {
namespace {

bool has(PyTypeObject* type, const char* name) {
  const auto key = Ref<>::steal(PyUnicode_InternFromString(name));
  return key && _PyType_Lookup(type, key.get()) != nullptr;
}

// `original` is the class.
PyObject* call(PyObject* original, PyObject* arguments, PyObject* keywords) {
  Session* const session = Session::current();
  if (session == nullptr || !session->wrappers) return PyObject_Call(original, arguments, keywords);
  HANDLE_TH_ERRORS
  const auto named = keywords != nullptr ? py::reinterpret_borrow<py::dict>(keywords) : py::dict();
  return session->wrappers
      ->make(py::reinterpret_borrow<py::object>(original), py::reinterpret_borrow<py::tuple>(arguments),
             named)
      .release()
      .ptr();
  END_HANDLE_TH_ERRORS
}

PyMethodDef instead = {"Tensor", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call)),
                       METH_VARARGS | METH_KEYWORDS, nullptr};

}  // namespace

Ref<> makes_wrapper_tensor(PyObject* callable) {
  if (!PyType_Check(callable)) return {};
  auto* const type = reinterpret_cast<PyTypeObject*>(callable);
  if (!cpython::is_python_class(type) ||
      !PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(THPVariableClass)) ||
      !has(type, "__tensor_flatten__") || !has(type, "__tensor_unflatten__"))
    return {};
  return Ref<>::steal(PyCFunction_New(&instead, callable));
}

bool is_wrapper_maker(PyObject* callable) {
  return PyCFunction_Check(callable) && reinterpret_cast<PyCFunctionObject*>(callable)->m_ml == &instead;
}

}  // namespace stator
