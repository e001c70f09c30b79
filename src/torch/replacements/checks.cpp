// src/torch/replacements/checks.cpp: a check of numbers that are read off tensors is a node of the graph.
#include "torch/replacements/checks.h"

#include <torch/csrc/Exceptions.h>
#include <torch/csrc/utils/pybind.h>

#include <array>
#include <stdexcept>
#include <string_view>

#include "torch/replacements/allowed_call.h"
#include "torch/symbols/known_comparison.h"
#include "torch/symbols/sym_python.h"
#include "torch/tracing/capture_break.h"
#include "torch/tracing/imported_module.h"
#include "torch/tracing/own_python.h"
#include "torch/tracing/session.h"

namespace stator {
namespace {

struct Operands {
  Comparison comparison;
  SymNumber left, right;
};

Operands operands_of(PyObject* const* arguments) {
  static constexpr std::array<std::string_view, 6> kNames = {"lt", "le", "eq", "ne", "gt", "ge"};
  const char* name = PyUnicode_AsUTF8(arguments[0]);
  for (size_t i = 0; name != nullptr && i < kNames.size(); i++) {
    if (kNames[i] == name)
      return {static_cast<Comparison>(i), number_of(arguments[1]).value(), number_of(arguments[2]).value()};
  }
  throw std::runtime_error("there is no such comparison");
}

// The call of check_lt(left, right), or of another of its kind.
void record_check(Session& session, PyObject* const* arguments) {
  const OwnPython python(&session);
  const py::module_ own = imported("stator.runtime.checks");
  const std::string name = "check_" + py::handle(arguments[0]).cast<std::string>();
  const py::object call =
      imported("stator.runtime.allowed_call")
          .attr("OpaqueCall")(own.attr(name.c_str()),
                              py::make_tuple(py::handle(arguments[1]), py::handle(arguments[2])), py::dict(),
                              py::bool_(true));
  call.attr("returns")(py::none());
  const std::vector<ir::Operand> numbers = number_operands(session, call);
  call.attr("forget")();
  record_python_call(session, std::make_shared<OpaqueFunction>(call), name, {}, numbers, {});
}

template <class Answer>
PyObject* in_session(Answer&& answer) {
  HANDLE_TH_ERRORS
  Session* session = Session::current();
  if (session == nullptr) throw std::runtime_error("a number of a run is checked outside of a capture");
  try {
    return PyBool_FromLong(answer(*session));
  } catch (const CaptureBreak& error) {
    session->note_break(error.code, error.msg);
    throw;
  }
  END_HANDLE_TH_ERRORS
}

PyObject* decide(PyObject*, PyObject* const* arguments, Py_ssize_t) {
  if (Session::current() == nullptr) {
    const Ref<> function = Ref<>::steal(PyObject_GetAttr(imported("operator").ptr(), arguments[0]));
    return function ? PyObject_CallFunctionObjArgs(function.get(), arguments[1], arguments[2], nullptr)
                    : nullptr;
  }
  return in_session([&](Session&) {
    const Operands of = operands_of(arguments);
    return compare(of.comparison, of.left, of.right);
  });
}

PyObject* check(PyObject*, PyObject* const* arguments, Py_ssize_t) {
  return in_session([&](Session& session) {
    const Operands of = operands_of(arguments);
    if (const auto known = compare_if_known(of.comparison, of.left, of.right)) return *known;
    record_check(session, arguments);
    assume(of.comparison, of.left, of.right);
    return true;
  });
}

using Fast = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t);
PyCFunction as_function(Fast function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef methods[] = {
    {"decide", as_function(decide), METH_FASTCALL, nullptr},
    {"check", as_function(check), METH_FASTCALL, nullptr},
};

}  // namespace

void prepare_checks() {
  const py::module_ own = imported("stator.runtime.checks");
  for (PyMethodDef& method : methods)
    own.attr(method.ml_name) = py::reinterpret_steal<py::object>(PyCFunction_New(&method, nullptr));
}

bool is_number_check(PyObject* callable) {
  if (!PyCFunction_Check(callable)) return false;
  const PyMethodDef* found = reinterpret_cast<PyCFunctionObject*>(callable)->m_ml;
  return found >= std::begin(methods) && found < std::end(methods);
}

}  // namespace stator
