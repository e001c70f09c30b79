// src/backends/fused/rewrite/with_padded_rows.cpp: the result of a product lies in rows of a length that
// tensor cores can write, and is copied from there.
#include <array>
#include <vector>

#include "backends/fused/rewrite/graph_copy.h"
#include "backends/fused/rewrite/rewrite.h"
#include "core/pass/added_operators.h"

namespace stator::fused {
namespace {

using ir::Operand;
using ir::OperandKind;

constexpr int64_t kMinColumns = 256;  // fewer are cheap either way

// Elements behind each other, of numbers alone.
bool is_contiguous(const ir::Graph& graph, ir::ValueId id) {
  const auto sizes = graph.sizes(id), strides = graph.strides(id);
  int64_t next = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    if (sizes[d].is_expr() || sizes[d].number() == 0) return false;
    if (sizes[d].number() != 1 && !(strides[d] == shape::Dim(next))) return false;
    next *= sizes[d].number();
  }
  return true;
}

bool is_16_bit(ir::DType dtype) { return dtype == ir::DType::kBF16 || dtype == ir::DType::kF16; }

bool has_odd_rows(const ir::Graph& graph, const ir::Node& node) {
  const auto operands = graph.operands(node);
  if (graph.op_of(node).name != "aten::linear" || operands.size() != 3 ||
      operands[0].kind != OperandKind::kValue || operands[1].kind != OperandKind::kValue ||
      operands[2].kind != OperandKind::kNone)
    return false;
  const ir::Value& result = graph.value(node.first_output);
  if (!is_16_bit(result.dtype) || result.alias != ir::AliasKind::kFresh || result.rank < 2 ||
      graph.value(operands[1].value).rank != 2)
    return false;
  for (ir::ValueId id : {operands[0].value, operands[1].value, node.first_output}) {
    if (!graph.value(id).has_strides || !is_contiguous(graph, id) || graph.value(id).dtype != result.dtype)
      return false;
  }
  const int64_t columns = graph.sizes(node.first_output).back().number();
  const int64_t inner = graph.sizes(operands[1].value)[1].number();
  return columns >= kMinColumns && columns % kAlignedColumns != 0 && inner % kAlignedColumns == 0;
}

}  // namespace

ir::Graph with_padded_rows(const ir::Graph& graph) {
  GraphCopy copy(graph);
  for (const ir::Node& node : graph.nodes()) {
    if (!has_odd_rows(graph, node)) {
      copy.keep(node);
      continue;
    }
    const ir::ValueSpec result = copy.spec(node.first_output);
    std::vector<shape::Dim> strides(result.sizes.size(), 1);
    int64_t next = (result.sizes.back().number() + kAlignedColumns - 1) / kAlignedColumns * kAlignedColumns;
    for (size_t d = strides.size() - 1; d-- > 0;) {
      strides[d] = next;
      next *= result.sizes[d].number();
    }
    ir::ValueSpec padded = result;
    padded.strides = strides;
    const ir::ValueId made = copy.add(node.op, copy.operands(node), padded, node);
    const ir::OpId op = pass::pure_operator(copy.to(), "aten::contiguous", {"self", "memory_format"});
    const std::array<Operand, 2> operands = {Operand::of(made), Operand::of(ir::MemoryFormat::kContiguous)};
    copy.stands_for(node.first_output, copy.add(op, operands, result, node));
  }
  return copy.finish();
}

}  // namespace stator::fused
