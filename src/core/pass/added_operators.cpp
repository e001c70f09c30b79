// src/core/pass/added_operators.cpp: their names and arguments.
#include "core/pass/added_operators.h"

namespace stator::pass {

ir::OpId pure_operator(ir::Graph& graph, std::string_view name, std::vector<std::string> arguments) {
  ir::Operator op;
  op.name = name;
  op.flags = ir::OpFlag::kPure;
  op.arguments = std::move(arguments);
  return graph.operators().add(std::move(op));
}

ir::OpId reshape_operator(ir::Graph& graph) {
  return pure_operator(graph, "aten::reshape", {"self", "shape"});
}

ir::OpId conversion_operator(ir::Graph& graph) {
  return pure_operator(graph, "aten::to.dtype", {"self", "dtype", "non_blocking", "copy", "memory_format"});
}

}  // namespace stator::pass
