// src/torch/replacements/known_list.cpp: Tensor.tolist reads memory, which only known tensors have at
// capture.
#include "torch/replacements/known_list.h"

#include <torch/csrc/autograd/python_variable.h>

#include <string_view>

#include "torch/tracing/session.h"
#include "torch/tracing/tracer.h"

namespace stator {
namespace {

constexpr std::string_view kName = "tolist";

bool is_tensor(PyObject* object) {
  return PyObject_TypeCheck(object, reinterpret_cast<PyTypeObject*>(THPVariableClass));
}

// `original` is torch's method.
PyObject* call(PyObject* original, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  const bool is_bound = PyCFunction_Check(original);
  PyObject* self = is_bound ? PyCFunction_GET_SELF(original) : count > 0 ? arguments[0] : nullptr;
  Session* session = Session::current();
  if (session != nullptr && self != nullptr && is_tensor(self)) {
    if (const auto known = session->known.find(*session, THPVariable_Unpack(self))) {
      const Ref<> real = Ref<>::steal(THPVariable_Wrap(*known));
      if (!real) return nullptr;
      session->pause();
      PyObject* list = PyObject_CallMethod(real.get(), kName.data(), nullptr);
      session->resume();
      return list;
    }
    session->note_break(BreakCode::kReadsMemory, "TensorBase.tolist()");
    PyErr_SetString(PyExc_RuntimeError, "stator: tolist of a tensor");
    return nullptr;
  }
  return PyObject_Vectorcall(original, arguments, static_cast<size_t>(count), names);
}

PyMethodDef instead = {"tolist", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call)),
                       METH_FASTCALL | METH_KEYWORDS, nullptr};

}  // namespace

Ref<> makes_known_list(PyObject* callable) {
  bool is_it = false;
  if (PyCFunction_Check(callable)) {
    const auto* function = reinterpret_cast<PyCFunctionObject*>(callable);
    is_it = function->m_ml != &instead && function->m_ml->ml_name == kName && function->m_self != nullptr &&
            is_tensor(function->m_self);
  } else if (Py_IS_TYPE(callable, &PyMethodDescr_Type)) {
    const auto* method = reinterpret_cast<PyMethodDescrObject*>(callable);
    is_it = method->d_method->ml_name == kName &&
            PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(THPVariableClass), PyDescr_TYPE(callable));
  }
  return is_it ? Ref<>::steal(PyCFunction_New(&instead, callable)) : Ref<>();
}

bool is_known_list(PyObject* callable) {
  return PyCFunction_Check(callable) && reinterpret_cast<PyCFunctionObject*>(callable)->m_ml == &instead;
}

}  // namespace stator
