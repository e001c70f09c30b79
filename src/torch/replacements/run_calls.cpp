// src/torch/replacements/run_calls.cpp: records calls of print, of clocks and of `random.random`.
#include "torch/replacements/run_calls.h"

#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/pybind.h>

#include <algorithm>
#include <vector>

#include "capture/cpython/exported.h"
#include "torch/replacements/allowed_call.h"
#include "torch/symbols/sym_python.h"
#include "torch/tracing/capture_break.h"
#include "torch/tracing/imported_module.h"
#include "torch/tracing/own_python.h"

namespace stator {
namespace {

PyObject* print_function = nullptr;
PyObject* streams_function = nullptr;
// Functions of `time` that give floats, and `random.random`, a method of the module's hidden generator.
std::vector<PyObject*> clocks;
PyCFunctionObject* draw = nullptr;

// Whether writing to it runs C code alone.
bool is_plain_stream(PyObject* stream) {
  if (stream == nullptr || stream == Py_None) return true;
  const auto is_native = [&](const char* name) {
    const Ref<> key = Ref<>::steal(PyUnicode_InternFromString(name));
    PyObject* method = _PyType_Lookup(Py_TYPE(stream), key.get());
    return method != nullptr && Py_IS_TYPE(method, &PyMethodDescr_Type);
  };
  return is_native("write") && is_native("flush");
}

// 1: of standard output, 2: of standard error.
PyObject* stream_bits(PyObject*, PyObject*) {
  const long bits = (is_plain_stream(PySys_GetObject("stdout")) ? 1 : 0) |
                    (is_plain_stream(PySys_GetObject("stderr")) ? 2 : 0);
  return PyLong_FromLong(bits);
}

[[noreturn]] void refuse(const std::string& why) { raise_break(BreakCode::kOutsideEffect, why); }

void record_print(Session& session, PyObject* arguments, PyObject* keywords) {
  const OwnPython own(&session);
  py::object call;
  try {
    call = imported("stator.runtime.output").attr("recorded")(py::handle(arguments), py::handle(keywords));
  } catch (py::error_already_set& error) {
    refuse("print: " + std::string(py::str(error.value())));
  }
  const int stream = call.attr("function").attr("stream").cast<int>();
  const Ref<> plain = Ref<>::steal(stream_bits(nullptr, nullptr));
  if ((PyLong_AsLong(plain.get()) & stream) == 0) refuse("print, to a stream of the program's");
  std::vector<at::Tensor> tensors;
  for (const py::handle& tensor : py::list(call.attr("tensors"))) {
    tensors.push_back(THPVariable_Unpack(tensor.ptr()));
    if (is_wrapper(tensors.back())) refuse("print of a tensor of a transform");
  }
  const std::vector<ir::Operand> numbers = number_operands(session, call);
  call.attr("forget")();
  call.attr("returns")(py::tuple());
  record_python_call(session, std::make_shared<OpaqueFunction>(call), "print", tensors, numbers, {});
}

// Runs `work` on the session; a break is noted.
template <class Work>
PyObject* recorded(Work work) {
  HANDLE_TH_ERRORS
  Session* session = Session::current();
  if (session == nullptr) throw std::runtime_error("a call is recorded outside of a capture");
  try {
    return work(*session);
  } catch (const CaptureBreak& error) {
    session->note_break(error.code, error.msg);
    throw;
  } catch (const std::exception& error) {
    session->note_break(BreakCode::kOutsideEffect, error.what());
    throw;
  }
  END_HANDLE_TH_ERRORS
}

PyObject* print(PyObject*, PyObject* arguments, PyObject* keywords) {
  return recorded([&](Session& session) {
    const py::dict none;
    record_print(session, arguments, keywords != nullptr ? keywords : none.ptr());
    return Py_NewRef(Py_None);
  });
}

// Bound to the function that gives the number.
PyObject* number(PyObject* function, PyObject*) {
  return recorded([&](Session& session) {
    const OwnPython own(&session);
    const py::object call = imported("stator.runtime.output").attr("NumberOfRun")(py::handle(function));
    ir::ValueSpec spec;
    spec.kind = ir::ValueKind::kFloat;
    const ir::NodeId node = record_python_call(session, std::make_shared<OpaqueFunction>(call),
                                               call.attr("name").cast<std::string>(), {}, {}, {&spec, 1});
    return to_python(session.number_of(session.graph.outputs(node)[0])).release();
  });
}

PyMethodDef print_method = {"print", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(print)),
                            METH_VARARGS | METH_KEYWORDS, nullptr};
PyMethodDef number_method = {"number", number, METH_NOARGS, nullptr};
PyMethodDef streams_method = {"streams", stream_bits, METH_NOARGS, nullptr};
PyObject* print_in_run = nullptr;

bool is_draw(PyObject* callable) {
  if (draw == nullptr || !PyCFunction_Check(callable)) return false;
  const auto* method = reinterpret_cast<PyCFunctionObject*>(callable);
  return method->m_ml == draw->m_ml && method->m_self == draw->m_self;
}

}  // namespace

void prepare_run_calls() {
  print_function = py::object(imported("builtins").attr("print")).release().ptr();
  print_in_run = PyCFunction_New(&print_method, nullptr);
  streams_function = PyCFunction_New(&streams_method, nullptr);
  for (const char* name : {"time", "perf_counter", "monotonic", "process_time", "thread_time"})
    clocks.push_back(py::object(imported("time").attr(name)).release().ptr());
  // Texts of tensors are made by Python code of torch's that asks for values at every step.
  imported("stator._capture").attr("Marked")(imported("torch._tensor_str").attr("_str"), "disabled");
  const py::object random = imported("random").attr("random");
  if (PyCFunction_Check(random.ptr())) draw = reinterpret_cast<PyCFunctionObject*>(Py_NewRef(random.ptr()));
}

Ref<> calls_in_run(PyObject* callable) {
  const bool prints = callable == print_function;
  if (!prints && std::ranges::find(clocks, callable) == clocks.end() && !is_draw(callable)) return {};
  Session* session = Session::current();
  if (session == nullptr || session->unrecorded != 0 || !session->reads_numbers) return {};
  return prints ? Ref<>::share(print_in_run) : Ref<>::steal(PyCFunction_New(&number_method, callable));
}

bool is_print_in_run(PyObject* callable) { return callable == print_in_run; }

bool is_number_of_run(PyObject* callable) {
  return PyCFunction_Check(callable) &&
         reinterpret_cast<PyCFunctionObject*>(callable)->m_ml == &number_method;
}

PyObject* stream_kinds() { return streams_function; }

}  // namespace stator
