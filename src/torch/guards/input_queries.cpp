// src/torch/guards/input_queries.cpp: what is known of tensors that the capture made, but not of those that a
// call brings: whether one is a view, where it begins in its storage, whether it was made in inference mode.
#include "torch/guards/input_queries.h"

#include <torch/csrc/autograd/python_variable.h>

#include <algorithm>
#include <string_view>

#include "torch/guards/tensor_guard.h"
#include "torch/replacements/tensor_method.h"
#include "torch/tracing/session.h"
#include "torch/tracing/tracer.h"

namespace stator {
namespace {

// Calls visit(real tensor) for each one of the call's or the program's that shares memory with this one.
template <class Visit>
bool each_real(const Session& session, const at::Tensor& tensor, Visit&& visit) {
  const Tracer* const tracer = as_tracer(tensor);
  if (tracer == nullptr) {
    visit(tensor);
    return true;
  }
  bool found = false;
  for (const Session::Lifted& lifted : session.inputs) {
    if (lifted.memory != tracer->identity().memory) continue;
    visit(lifted.tensor);
    found = true;
  }
  return found;
}

bool is_input(const Session& session, const at::Tensor& tensor) {
  return as_tracer(tensor) == nullptr ||
         std::ranges::any_of(session.inputs,
                             [&](const Session::Lifted& lifted) { return lifted.tracer.is_same(tensor); });
}

// How a query is answered: as torch does, by another object, or not at all.
enum class Answer : uint8_t { torchs, other, refused };

Answer is_view(Session& session, const at::Tensor& tensor, PyObject**) {
  return is_input(session, tensor) ? Answer::refused : Answer::torchs;
}

// A tracer's offset counts from that of its input.
Answer storage_offset(Session& session, const at::Tensor& tensor, PyObject**) {
  each_real(session, tensor, [](const at::Tensor& real) { note_offset_read(real); });
  return Answer::torchs;
}

// Dispatch keys tell, which every guard compares.
Answer is_inference(Session& session, const at::Tensor& tensor, PyObject** answer) {
  const bool is_known = each_real(
      session, tensor, [&](const at::Tensor& real) { *answer = real.is_inference() ? Py_True : Py_False; });
  return is_known ? Answer::other : Answer::torchs;
}

struct Query {
  const char* name;
  Answer (*ask)(Session&, const at::Tensor&, PyObject** answer);
};

constexpr Query kQueries[] = {
    {"_is_view", is_view},
    {"storage_offset", storage_offset},
    {"is_inference", is_inference},
};

// `original` is torch's method, or the function of the same name.
template <size_t number>
PyObject* call(PyObject* original, PyObject* const* arguments, Py_ssize_t count) {
  Session* session = Session::current();
  PyObject* self =
      PyCFunction_Check(original) ? reinterpret_cast<PyCFunctionObject*>(original)->m_self : nullptr;
  if ((self == nullptr || !is_tensor(self)) && count > 0) self = arguments[0];
  if (session != nullptr && self != nullptr && is_tensor(self)) {
    PyObject* answer = nullptr;
    switch (kQueries[number].ask(*session, THPVariable_Unpack(self), &answer)) {
      case Answer::torchs:
        break;
      case Answer::other:
        return Py_NewRef(answer);
      case Answer::refused:
        session->note_break(BreakCode::kReadsMemory, std::string(kQueries[number].name) + " of an argument");
        PyErr_Format(PyExc_RuntimeError, "stator: %s of an argument", kQueries[number].name);
        return nullptr;
    }
  }
  return PyObject_Vectorcall(original, arguments, static_cast<size_t>(count), nullptr);
}

template <size_t number>
PyMethodDef method_of() {
  return {kQueries[number].name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call<number>)),
          METH_FASTCALL, nullptr};
}

// A static method of the class that torch's functions on tensors are taken from.
bool is_torch_function(PyObject* callable) {
  if (!PyCFunction_Check(callable)) return false;
  PyObject* const holder = reinterpret_cast<PyCFunctionObject*>(callable)->m_self;
  return holder != nullptr && PyType_Check(holder) &&
         std::string_view(reinterpret_cast<PyTypeObject*>(holder)->tp_name)
             .ends_with("_VariableFunctionsClass");
}

PyMethodDef instead[] = {method_of<0>(), method_of<1>(), method_of<2>()};
static_assert(std::size(kQueries) == 3, "one method for each query");

}  // namespace

Ref<> queries_input(PyObject* callable) {
  if (is_input_query(callable)) return {};
  std::string_view name = tensor_method_name(callable);
  if (name.empty() && is_torch_function(callable))
    name = reinterpret_cast<PyCFunctionObject*>(callable)->m_ml->ml_name;
  const auto found = std::ranges::find(instead, name, &PyMethodDef::ml_name);
  return found != std::end(instead) ? Ref<>::steal(PyCFunction_New(found, callable)) : Ref<>();
}

bool is_input_query(PyObject* callable) {
  if (!PyCFunction_Check(callable)) return false;
  const PyMethodDef* const method = reinterpret_cast<PyCFunctionObject*>(callable)->m_ml;
  return method >= std::begin(instead) && method < std::end(instead);
}

}  // namespace stator
