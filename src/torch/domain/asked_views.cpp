// src/torch/domain/asked_views.cpp: whether a tensor is a view is known of those that the capture made. The
// tensors that a call brings are views or not from call to call, and no guard asks for it.
#include "torch/domain/asked_views.h"

#include <torch/csrc/autograd/python_variable.h>

#include <algorithm>
#include <string_view>

#include "torch/domain/tensor_method.h"
#include "torch/session.h"
#include "torch/tracer.h"

namespace stator {
namespace {

constexpr std::string_view kName = "_is_view";

// `original` is torch's method.
PyObject* call(PyObject* original, PyObject* const* arguments, Py_ssize_t count) {
  Session* session = Session::current();
  PyObject* self = PyCFunction_Check(original) ? PyCFunction_GET_SELF(original)
                   : count > 0                 ? arguments[0]
                                               : nullptr;
  if (session != nullptr && self != nullptr && is_tensor(self)) {
    const at::Tensor& tensor = THPVariable_Unpack(self);
    const bool is_input = std::ranges::any_of(
        session->inputs, [&](const Session::Lifted& lifted) { return lifted.tracer.is_same(tensor); });
    if (is_input) {
      session->note_break(BreakCode::kReadsMemory, "whether an argument is a view");
      PyErr_SetString(PyExc_RuntimeError, "stator: whether an argument is a view");
      return nullptr;
    }
  }
  return PyObject_Vectorcall(original, arguments, static_cast<size_t>(count), nullptr);
}

PyMethodDef instead = {"_is_view", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call)),
                       METH_FASTCALL, nullptr};

}  // namespace

Ref<> asks_for_view(PyObject* callable) {
  if (is_asking_for_view(callable)) return {};
  const std::string_view name = tensor_method_name(callable);
  return name == kName ? Ref<>::steal(PyCFunction_New(&instead, callable)) : Ref<>();
}

bool is_asking_for_view(PyObject* callable) {
  return PyCFunction_Check(callable) && reinterpret_cast<PyCFunctionObject*>(callable)->m_ml == &instead;
}

}  // namespace stator
