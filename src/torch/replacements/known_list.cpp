// src/torch/replacements/known_list.cpp: Tensor.tolist reads memory, which only known tensors have at
// capture; of others it may be a read of each number.
#include "torch/replacements/known_list.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/pybind.h>

#include <string_view>

#include "torch/symbols/sym_python.h"
#include "torch/tracing/capture_break.h"
#include "torch/tracing/caught_error.h"
#include "torch/tracing/integer_reads.h"
#include "torch/tracing/session.h"
#include "torch/tracing/tracer.h"

namespace stator {
namespace {

constexpr std::string_view kName = "tolist";

bool is_tensor(PyObject* object) {
  return PyObject_TypeCheck(object, reinterpret_cast<PyTypeObject*>(THPVariableClass));
}

constexpr int64_t kMostNumbers = 256;

SymNumber read_item(Session& session, const at::Tensor& element) {
  static const auto handle = c10::Dispatcher::singleton().findSchemaOrThrow("aten::item", "");
  static const OperatorInfo& item = operator_info(handle);
  if (at::isFloatingType(element.scalar_type())) return session.read_number(item.id, element);
  const auto integer = read_integer(session, item, element);
  if (!integer) raise_break(BreakCode::kReadsMemory, "TensorBase.tolist()");
  return SymNumber::of(*integer);
}

Ref<> list_of_reads(Session& session, const at::Tensor& tensor) {
  if (tensor.dim() == 0) return to_python(read_item(session, tensor));
  const int64_t count = tensor.size(0);
  Ref<> list = Ref<>::steal(PyList_New(count));
  for (int64_t i = 0; list && i < count; i++) {
    Ref<> item = list_of_reads(session, tensor.select(0, i));
    if (!item) return {};
    PyList_SET_ITEM(list.get(), i, item.release());
  }
  return list;
}

bool reads_each_number(const Session& session, const at::Tensor& tensor) {
  const at::ScalarType type = tensor.scalar_type();
  const bool is_number = at::isFloatingType(type) || at::isIntegralType(type, /*includeBool=*/false);
  return session.unrecorded == 0 && is_number && as_tracer(tensor) != nullptr && captures_scalars(session) &&
         tensor.numel() <= kMostNumbers;
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
    try {
      if (const at::Tensor& tensor = THPVariable_Unpack(self); reads_each_number(*session, tensor))
        return list_of_reads(*session, tensor).release();
    } catch (py::error_already_set& error) {
      error.restore();
      return nullptr;
    } catch (const std::exception& error) {
      session->note_break(BreakCode::kReadsMemory, error.what());
      drop_caught();
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
