// src/torch/inference/constant_predicates.cpp: questions about values that can be answered before there are
// any.
#include "torch/inference/constant_predicates.h"

#include <torch/csrc/utils/pybind.h>

#include <string_view>

#include "torch/operators/operator_table.h"
#include "torch/tracing/tracer.h"

namespace stator {

namespace {

std::string_view operator_of(const ir::Graph& graph, const ir::Value& value) {
  return value.node == ir::NodeId::kNone ? std::string_view()
                                         : std::string_view(graph.op_of(graph.node(value.node)).name);
}

// Whether no other node than `user` ever saw the value: nobody wrote to its memory.
bool used_only_by(const ir::Graph& graph, ir::ValueId value, ir::NodeId user) {
  bool only = true;
  for (size_t i = index(graph.value(value).node); i < graph.nodes().size(); ++i) {
    if (i == index(user)) continue;
    graph.for_each_use(graph.nodes()[i], [&](ir::ValueId used) { only = only && used != value; });
  }
  return only;
}

std::optional<double> number_in(const ir::Operand& operand) {
  if (operand.kind == ir::OperandKind::kDouble) return operand.real;
  if (operand.kind == ir::OperandKind::kInt) return static_cast<double>(operand.integer);
  return std::nullopt;
}

// rand() < bound and its like.
std::optional<bool> compared_random(const Session& session, const at::Tensor& asked) {
  const Tracer* tracer = as_tracer(asked);
  const ir::Graph& graph = session.graph;
  if (tracer == nullptr || tracer->identity().value >= graph.value_count()) return std::nullopt;
  const ir::Value& comparison = graph.value(ir::ValueId{tracer->identity().value});
  const std::string_view name = operator_of(graph, comparison);
  if (name != "aten::lt.Scalar" && name != "aten::le.Scalar" && name != "aten::gt.Scalar" &&
      name != "aten::ge.Scalar") {
    return std::nullopt;
  }
  const auto operands = graph.operands(comparison.node);
  const std::optional<double> bound = operands.size() == 2 ? number_in(operands[1]) : std::nullopt;
  if (!bound || operands[0].kind != ir::OperandKind::kValue) return std::nullopt;
  if (operator_of(graph, graph.value(operands[0].value)) != "aten::rand") return std::nullopt;
  if (!used_only_by(graph, operands[0].value, comparison.node) ||
      !used_only_by(graph, ir::ValueId{tracer->identity().value}, ir::NodeId::kNone)) {
    return std::nullopt;
  }
  const bool less = name == "aten::lt.Scalar" || name == "aten::le.Scalar";
  const bool strict = name == "aten::lt.Scalar" || name == "aten::ge.Scalar";  // 0 itself is on the far side
  if (*bound >= 1) return less;
  if (strict ? *bound <= 0 : *bound < 0) return !less;
  return std::nullopt;
}

// The functions of torch.distributions.Distribution that validate arguments and samples.
bool validates(const PyObject* code) {
  // Not imported: whoever has not loaded it is not running it.
  PyObject* const module = PyDict_GetItemString(PyImport_GetModuleDict(), "torch.distributions.distribution");
  if (module == nullptr) return false;
  const py::object base = py::getattr(module, "Distribution", py::none());
  for (const char* name : {"__init__", "_validate_sample"}) {
    const py::object function = py::getattr(base, name, py::none());
    if (PyFunction_Check(function.ptr()) && PyFunction_GET_CODE(function.ptr()) == code) return true;
  }
  return false;
}

// Whether the Python code that asks is such a function.
bool asked_by_validation() {
  const py::gil_scoped_acquire gil;
  const auto frame = py::reinterpret_steal<py::object>(
      reinterpret_cast<PyObject*>(PyThreadState_GetFrame(PyThreadState_Get())));
  if (!frame) return false;
  const auto code = py::reinterpret_steal<py::object>(
      reinterpret_cast<PyObject*>(PyFrame_GetCode(reinterpret_cast<PyFrameObject*>(frame.ptr()))));
  return validates(code.ptr());
}

}  // namespace

std::optional<bool> constant_predicate(const Session& session, const OperatorInfo& info,
                                       std::span<const c10::IValue> arguments) {
  static const OperatorInfo* const is_nonzero =
      &operator_info(c10::Dispatcher::singleton().findSchemaOrThrow("aten::is_nonzero", ""));
  if (&info != is_nonzero) return std::nullopt;
  const at::Tensor& asked = arguments[0].toTensor();
  if (asked.sym_numel() != 1) return std::nullopt;
  if (const auto truth = compared_random(session, asked)) return truth;
  return asked_by_validation() ? std::optional(true) : std::nullopt;
}

}  // namespace stator
