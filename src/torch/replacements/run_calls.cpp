// src/torch/replacements/run_calls.cpp: records calls of print, of streams, of logging, of clocks and of the
// generators of random numbers that the modules random and numpy.random keep.
#include "torch/replacements/run_calls.h"

#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/pybind.h>

#include <algorithm>
#include <vector>

#include "capture/cpython/exported.h"
#include "capture/cpython/interrupts.h"
#include "torch/replacements/allowed_call.h"
#include "torch/symbols/sym_python.h"
#include "torch/tracing/capture_break.h"
#include "torch/tracing/imported_module.h"
#include "torch/tracing/integer_reads.h"
#include "torch/tracing/own_python.h"

namespace stator {
namespace {

PyObject* print_function = nullptr;
PyObject* streams_function = nullptr;
// Functions of `time` that give floats, and `random.random`, a method of the module's hidden generator.
std::vector<PyObject*> clocks;
PyCFunctionObject* draw = nullptr;
PyObject* random_module = nullptr;
std::vector<PyTypeObject*> stream_classes;  // whose methods are C functions

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

// What `make`, a function of stator/runtime/output.py, makes of the arguments.
PyObject* record_output(Session& session, PyObject* make, PyObject* arguments, PyObject* keywords) {
  if (session.unrecorded != 0 || !session.runs_python) refuse("output: only the native backend has it");
  const OwnPython own(&session);
  const Ref<> made = Ref<>::steal(PyObject_Call(make, arguments, keywords));
  if (!made) {
    const bool interrupted = is_interrupted();
    const py::error_already_set error;
    if (interrupted) throw error;
    refuse("output: " + std::string(py::str(error.value())));
  }
  const py::handle call(made.get());
  const Ref<> plain = Ref<>::steal(stream_bits(nullptr, nullptr));
  const long streams = call.attr("streams").cast<long>();
  if ((PyLong_AsLong(plain.get()) & streams) != streams) refuse("output to a stream of the program's");
  std::vector<at::Tensor> tensors;
  for (const py::handle& tensor : py::list(call.attr("tensors"))) {
    tensors.push_back(THPVariable_Unpack(tensor.ptr()));
    if (is_wrapper(tensors.back())) refuse("output of a tensor of a transform");
  }
  const auto node = py::reinterpret_borrow<py::object>(call);
  const std::vector<ir::Operand> numbers = number_operands(session, node);
  call.attr("forget")();
  record_python_call(session, std::make_shared<OpaqueFunction>(node), "output", tensors, numbers, {});
  return py::object(call.attr("result")).release().ptr();
}

std::string text_of(PyObject* function) {
  const Ref<> text = Ref<>::steal(_PyObject_FunctionStr(function));
  const char* words = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  if (words == nullptr) drop_error();
  return words != nullptr ? words : "a draw";
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

// Bound to the function that makes the call of each run.
PyObject* output(PyObject* make, PyObject* arguments, PyObject* keywords) {
  return recorded([&](Session& session) { return record_output(session, make, arguments, keywords); });
}

// Bound to the function that gives the number.
PyObject* number(PyObject* function, PyObject* arguments, PyObject* keywords) {
  return recorded([&](Session& session) {
    // A break here spares those inside of the function that draws.
    if (session.unrecorded != 0 || !session.runs_python)
      raise_break(BreakCode::kRandomState, text_of(function));
    const OwnPython own(&session);
    const py::handle named = keywords != nullptr ? py::handle(keywords) : py::handle(Py_None);
    const py::object call = imported("stator.runtime.run_numbers")
                                .attr("number_of_run")(py::handle(function), py::handle(arguments), named);
    if (call.is_none()) raise_break(BreakCode::kRandomState, text_of(function));
    const bool is_integer = call.attr("is_integer").cast<bool>();
    std::optional<shape::Size> integer;
    if (is_integer && session.reads_integers) integer = integer_of_run(session, shape::Range::all());
    if (is_integer && !integer) raise_break(BreakCode::kRandomState, text_of(function));
    ir::ValueSpec spec;
    spec.kind = is_integer ? ir::ValueKind::kInt : ir::ValueKind::kFloat;
    const ir::NodeId node = record_python_call(session, std::make_shared<OpaqueFunction>(call),
                                               call.attr("name").cast<std::string>(), {}, {}, {&spec, 1});
    if (integer) return to_python(SymNumber::of(*integer)).release();
    return to_python(session.number_of(session.graph.outputs(node)[0])).release();
  });
}

PyMethodDef output_method = {"output", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(output)),
                             METH_VARARGS | METH_KEYWORDS, nullptr};
PyMethodDef number_method = {"number", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(number)),
                             METH_VARARGS | METH_KEYWORDS, nullptr};
PyMethodDef streams_method = {"streams", stream_bits, METH_NOARGS, nullptr};
PyObject* print_in_run = nullptr;

PyObject* output_by(const char* module, const char* name) {
  return PyCFunction_New(&output_method, py::object(imported(module).attr(name)).ptr());
}

// `write` and `flush` of a stream of Python's own: bound, or as 3.11 loads methods, with the stream as an
// argument. Whether it is a standard stream is asked when the call is recorded.
Ref<> writes_in_run(PyObject* callable) {
  const bool is_bound = PyCFunction_Check(callable);
  if (!is_bound && !Py_IS_TYPE(callable, &PyMethodDescr_Type)) return {};
  PyObject* const stream = is_bound ? reinterpret_cast<PyCFunctionObject*>(callable)->m_self : nullptr;
  if (is_bound && (stream == nullptr || PyType_Check(stream))) return {};
  const PyTypeObject* const type = is_bound ? Py_TYPE(stream) : PyDescr_TYPE(callable);
  if (std::ranges::find(stream_classes, type) == stream_classes.end()) return {};
  const PyMethodDef* const method = is_bound ? reinterpret_cast<PyCFunctionObject*>(callable)->m_ml
                                             : reinterpret_cast<PyMethodDescrObject*>(callable)->d_method;
  const std::string_view name = method->ml_name;
  if (name != "write" && name != "flush") return {};
  py::object make = imported("stator.runtime.output").attr(name == "write" ? "written" : "flushed");
  if (is_bound) make = imported("functools").attr("partial")(make, py::handle(stream));
  return Ref<>::steal(PyCFunction_New(&output_method, make.ptr()));
}

bool is_draw(PyObject* callable) {
  if (draw == nullptr || !PyCFunction_Check(callable)) return false;
  const auto* method = reinterpret_cast<PyCFunctionObject*>(callable);
  return method->m_ml == draw->m_ml && method->m_self == draw->m_self;
}

// The generator that numpy.random's functions are bound to; nullptr while numpy is not loaded.
PyObject* numpy_generator() {
  static PyObject* found = nullptr;
  if (found != nullptr) return found;
  const Ref<> name = Ref<>::steal(PyUnicode_FromString("numpy.random.mtrand"));
  const Ref<> module = Ref<>::steal(name ? PyImport_GetModule(name.get()) : nullptr);
  found = module ? PyObject_GetAttrString(module.get(), "_rand") : nullptr;
  drop_error();
  return found;
}

// Whether it is a method of such a generator as the library defines it.
bool is_method_of_generator(PyObject* method) {
  PyObject *const self = PyMethod_GET_SELF(method), *const function = PyMethod_GET_FUNCTION(method);
  if (draw != nullptr && self == draw->m_self)
    return PyFunction_Check(function) && PyFunction_GET_GLOBALS(function) == PyModule_GetDict(random_module);
  const std::string_view type = Py_TYPE(self)->tp_name;
  return type == "numpy.random.mtrand.RandomState" && self == numpy_generator() &&
         std::string_view(Py_TYPE(function)->tp_name).starts_with("_cython");
}

}  // namespace

Ref<> draws_in_run(PyObject* method) {
  if (Session::current() == nullptr) return {};
  return is_method_of_generator(method) ? Ref<>::steal(PyCFunction_New(&number_method, method)) : Ref<>();
}

void prepare_run_calls() {
  print_function = py::object(imported("builtins").attr("print")).release().ptr();
  print_in_run = output_by("stator.runtime.output", "printed");
  const py::module_ records = imported("stator.runtime.log_records");
  records.attr("emit") =
      py::reinterpret_steal<py::object>(output_by("stator.runtime.log_records", "recorded"));
  records.attr("replace")();
  streams_function = PyCFunction_New(&streams_method, nullptr);
  for (const char* name : {"time", "perf_counter", "monotonic", "process_time", "thread_time"})
    clocks.push_back(py::object(imported("time").attr(name)).release().ptr());
  for (const char* name : {"TextIOWrapper", "StringIO", "_IOBase"})
    stream_classes.push_back(
        reinterpret_cast<PyTypeObject*>(py::object(imported("_io").attr(name)).release().ptr()));
  // Texts of tensors are made by Python code of torch's that asks for values at every step.
  imported("stator._capture").attr("Marked")(imported("torch._tensor_str").attr("_str"), "disabled");
  random_module = py::object(imported("random")).release().ptr();
  const py::object random = imported("random").attr("random");
  if (PyCFunction_Check(random.ptr())) draw = reinterpret_cast<PyCFunctionObject*>(Py_NewRef(random.ptr()));
}

Ref<> calls_in_run(PyObject* callable) {
  Session* session = Session::current();
  if (session == nullptr || session->unrecorded != 0 || !session->runs_python) return {};
  if (callable == print_function) return Ref<>::share(print_in_run);
  if (std::ranges::find(clocks, callable) != clocks.end() || is_draw(callable))
    return Ref<>::steal(PyCFunction_New(&number_method, callable));
  return writes_in_run(callable);
}

bool is_output_in_run(PyObject* callable) {
  return PyCFunction_Check(callable) &&
         reinterpret_cast<PyCFunctionObject*>(callable)->m_ml == &output_method;
}

bool is_number_of_run(PyObject* callable) {
  return PyCFunction_Check(callable) &&
         reinterpret_cast<PyCFunctionObject*>(callable)->m_ml == &number_method;
}

PyObject* stream_kinds() { return streams_function; }

}  // namespace stator
