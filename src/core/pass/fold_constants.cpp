// src/core/pass/fold_constants.cpp: a forward walk, so that what was folded feeds the next node.
#include "core/pass/fold_constants.h"

#include "core/ir/effects.h"
#include "core/pass/alias_facts.h"

namespace stator::pass {
namespace {

bool is_small(const ir::Graph& graph, const ir::Value& value) {
  int64_t elements = 1;
  for (shape::Dim size : graph.sizes(value)) {
    if (size.is_expr() || __builtin_mul_overflow(elements, size.number(), &elements)) return false;
    if (elements > kMaxFoldedElements) return false;
  }
  return true;
}

bool is_constant_operand(const ir::Graph& graph, const AliasFacts& facts, const ir::Operand& operand) {
  switch (operand.kind) {
    case ir::OperandKind::kSymInt:
    case ir::OperandKind::kSymIntList:
    case ir::OperandKind::kOpaque:  // a generator or a callable
      return false;
    case ir::OperandKind::kList:
      for (const ir::Operand& element : graph.elements(operand)) {
        if (!is_constant_operand(graph, facts, element)) return false;
      }
      return true;
    default:
      break;
  }
  bool constant = true;
  graph.for_each_value(operand, [&](ir::ValueId id) {
    const ir::NodeId origin = graph.value(id).node;
    constant = constant && origin != ir::NodeId::kNone && graph.node(origin).op == ir::op::kConstant &&
               !facts.is_written(id);
  });
  return constant;
}

bool can_fold(const ir::Graph& graph, const AliasFacts& facts, const ir::Node& node) {
  if (node.output_count != 1 || node.op == ir::op::kConstant) return false;
  const ir::Value& output = graph.value(node.first_output);
  if (!output.is_tensor() || !facts.is_interchangeable(node.first_output) || !is_small(graph, output))
    return false;
  if (!ir::effects_of(graph, node).repeatable()) return false;
  for (const ir::Operand& operand : graph.operands(node)) {
    if (!is_constant_operand(graph, facts, operand)) return false;
  }
  return true;
}

}  // namespace

void fold_constants(ir::Graph& graph, const Evaluator& evaluate) {
  // Folding only takes members out of alias sets, so the facts stay true on the safe side. They speak of
  // storages as they were; a folded view has one of its own, with no facts, and was interchangeable.
  const AliasFacts facts(graph);
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const ir::Node node = graph.nodes()[i];
    if (graph.op_of(node).flags.has(ir::OpFlag::kMode) && node.op != ir::op::kSetGradEnabled) return;
    if (!can_fold(graph, facts, node)) continue;
    Folded folded = evaluate(graph, node);
    if (!folded.object) continue;
    const ir::Operand constant[] = {graph.constant(std::move(folded.object), std::move(folded.text))};
    graph.rewrite_node(ir::NodeId{static_cast<uint32_t>(i)}, ir::op::kConstant, constant);
  }
}

}  // namespace stator::pass
