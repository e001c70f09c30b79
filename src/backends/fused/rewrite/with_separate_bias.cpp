// src/backends/fused/rewrite/with_separate_bias.cpp: linear and addmm as a product and a sum.
#include <algorithm>
#include <array>

#include "backends/fused/rewrite/graph_copy.h"
#include "backends/fused/rewrite/rewrite.h"
#include "core/pass/added_operators.h"

namespace stator::fused {
namespace {

using ir::Operand;
using ir::OperandKind;

bool is_one(const Operand& operand) {
  return (operand.kind == OperandKind::kInt && operand.integer == 1) ||
         (operand.kind == OperandKind::kDouble && operand.real == 1);
}

bool is_vector(const ir::Graph& graph, const Operand& operand) {
  return operand.kind == OperandKind::kValue && graph.value(operand.value).is_tensor() &&
         graph.value(operand.value).rank == 1 && graph.value(operand.value).dtype == ir::DType::kF32;
}

}  // namespace

ir::Graph with_separate_bias(const ir::Graph& graph) {
  GraphCopy copy(graph);
  for (const ir::Node& node : graph.nodes()) {
    const std::string& name = graph.op_of(node).name;
    const auto operands = graph.operands(node);
    const bool is_linear = name == "aten::linear" && operands.size() == 3;
    const bool is_addmm = name == "aten::addmm" && operands.size() == 5;
    const size_t bias = is_linear ? 2 : 0;
    const bool separates = (is_linear || is_addmm) && is_vector(graph, operands[bias]) &&
                           graph.value(node.first_output).dtype == ir::DType::kF32 &&
                           graph.value(node.first_output).rank >= 2 &&
                           graph.value(node.first_output).alias == ir::AliasKind::kFresh &&
                           (is_linear || (is_one(operands[3]) && is_one(operands[4])));
    if (!separates) {
      copy.keep(node);
      continue;
    }
    std::vector<Operand> own = copy.operands(node);
    const ir::ValueSpec result = copy.spec(node.first_output);
    const Operand added = own[bias];
    ir::OpId product = node.op;
    if (is_linear) {
      own[2] = Operand::none();
    } else {
      product = pass::pure_operator(copy.to(), "aten::mm", {"self", "mat2"});
      own = {own[1], own[2]};
    }
    const ir::ValueId plain = copy.add(product, own, result, node);
    const ir::OpId add = pass::pure_operator(copy.to(), "aten::add.Tensor", {"self", "other", "alpha"});
    const std::array<Operand, 3> sum = {Operand::of(plain), added, Operand::of(int64_t{1})};
    copy.stands_for(node.first_output, copy.add(add, sum, result, node));
  }
  return copy.finish();
}

}  // namespace stator::fused
