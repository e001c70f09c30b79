// src/torch/replacements/tensor_data.cpp: torch.tensor and its kin, given tensors inside of sequences.
#include "torch/replacements/tensor_data.h"

#include <torch/csrc/autograd/python_variable.h>

#include <algorithm>
#include <string_view>

#include "torch/tracing/session.h"
#include "torch/tracing/tracer.h"

namespace stator {
namespace {

constexpr std::string_view kConstructors[] = {
    "tensor",
    "as_tensor",
    "asarray",
    "sparse_coo_tensor",
    "sparse_compressed_tensor",
    "sparse_csr_tensor",
    "sparse_csc_tensor",
    "sparse_bsr_tensor",
    "sparse_bsc_tensor",
};

bool holds_real_tensor(PyObject* data) {
  if (!PyList_Check(data) && !PyTuple_Check(data)) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(data); i++) {
    PyObject* item = PySequence_Fast_GET_ITEM(data, i);
    if (THPVariable_Check(item) ? as_tracer(THPVariable_Unpack(item)) == nullptr : holds_real_tensor(item))
      return true;
  }
  return false;
}

// `original` is torch's function.
PyObject* call(PyObject* original, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  const Py_ssize_t all = count + (names != nullptr ? PyTuple_GET_SIZE(names) : 0);
  if (std::any_of(arguments, arguments + all, has_unseen_tensors)) return nullptr;
  return PyObject_Vectorcall(original, arguments, static_cast<size_t>(count), names);
}

PyMethodDef instead = {"tensor", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call)),
                       METH_FASTCALL | METH_KEYWORDS, nullptr};

}  // namespace

bool has_unseen_tensors(PyObject* data) {
  Session* session = Session::current();
  if (session == nullptr || !holds_real_tensor(data)) return false;
  session->note_break(BreakCode::kReadsMemory, "a tensor made of the values of others");
  PyErr_SetString(PyExc_RuntimeError, "stator: a tensor made of the values of others");
  return true;
}

Ref<> makes_from_data(PyObject* callable) {
  if (!PyCFunction_Check(callable)) return {};
  const auto* function = reinterpret_cast<PyCFunctionObject*>(callable);
  if (function->m_ml == &instead || function->m_self == nullptr || !PyType_Check(function->m_self) ||
      std::find(std::begin(kConstructors), std::end(kConstructors), function->m_ml->ml_name) ==
          std::end(kConstructors))
    return {};
  const std::string_view holder = reinterpret_cast<PyTypeObject*>(function->m_self)->tp_name;
  if (holder.find("_VariableFunctions") == std::string_view::npos) return {};
  return Ref<>::steal(PyCFunction_New(&instead, callable));
}

bool is_data_constructor(PyObject* callable) {
  return PyCFunction_Check(callable) && reinterpret_cast<PyCFunctionObject*>(callable)->m_ml == &instead;
}

}  // namespace stator
