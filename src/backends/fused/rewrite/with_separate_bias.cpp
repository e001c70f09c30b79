// src/backends/fused/rewrite/with_separate_bias.cpp: linear, addmm and convolutions without their
// bias, and a sum.
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

// torch adds the bias of a convolution in a kernel of its own, except where it is a product (matrix_step.h).
bool has_bias_apart(const ir::Graph& graph, const ir::Node& node) {
  const auto operands = graph.operands(node);
  if (graph.op_of(node).name != "aten::conv2d" || operands.size() != 7) return false;
  const ir::Value& result = graph.value(node.first_output);
  for (size_t i = 0; i < 3; ++i) {
    if (operands[i].kind != OperandKind::kValue) return false;
    const ir::Value& value = graph.value(operands[i].value);
    if (!value.is_tensor() || value.dtype != result.dtype) return false;
  }
  const ir::Value& bias = graph.value(operands[2].value);
  if (result.rank != 4 || result.alias != ir::AliasKind::kFresh || bias.rank != 1 || !bias.has_strides ||
      graph.sizes(bias)[0].is_expr() || !(graph.strides(bias)[0] == shape::Dim(1)))
    return false;
  const bool is_16_bit = result.dtype == ir::DType::kBF16 || result.dtype == ir::DType::kF16;
  if (result.dtype != ir::DType::kF32 && !is_16_bit) return false;
  const auto weight = graph.sizes(operands[1].value);
  return !is_16_bit || weight.size() != 4 || !(weight[2] == shape::Dim(1)) || !(weight[3] == shape::Dim(1));
}

void add_apart(GraphCopy& copy, const ir::Graph& graph, const ir::Node& node) {
  std::vector<Operand> own = copy.operands(node);
  const ir::ValueId bias = graph.operands(node)[2].value;
  own[2] = Operand::none();
  const ir::ValueSpec result = copy.spec(node.first_output);
  const ir::ValueId plain = copy.add(node.op, own, result, node);
  const shape::Dim channels = graph.sizes(bias)[0];
  const std::array<shape::Dim, 4> sizes = {1, channels, 1, 1}, strides = {channels, 1, 1, 1};
  ir::ValueSpec seen = copy.spec(bias);
  seen.alias = ir::Alias::view(copy.now(bias));
  seen.flags = 0;
  seen.sizes = sizes;
  seen.strides = strides;
  const ir::OpId view = pass::pure_operator(copy.to(), "aten::view", {"self", "size"});
  const std::array<Operand, 2> viewed = {Operand::of(copy.now(bias)), copy.to().dim_list(sizes)};
  const ir::ValueId shaped = copy.add(view, viewed, seen, node);
  const ir::OpId add = pass::pure_operator(copy.to(), "aten::add.Tensor", {"self", "other", "alpha"});
  const std::array<Operand, 3> sum = {Operand::of(plain), Operand::of(shaped), Operand::of(int64_t{1})};
  copy.stands_for(node.first_output, copy.add(add, sum, result, node));
}

}  // namespace

ir::Graph with_separate_bias(const ir::Graph& graph) {
  GraphCopy copy(graph);
  for (const ir::Node& node : graph.nodes()) {
    if (has_bias_apart(graph, node)) {
      add_apart(copy, graph, node);
      continue;
    }
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
