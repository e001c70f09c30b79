// src/core/pass/alias_facts.cpp: one walk that collects writes, outputs and gradients by alias set.
#include "core/pass/alias_facts.h"

#include "core/ir/effects.h"

namespace stator::pass {

AliasFacts::AliasFacts(const ir::Graph& graph) : graph_(graph), facts_(graph.value_count(), 0) {
  for (size_t i = 0; i < graph.value_count(); ++i) {
    ir::ValueId id{static_cast<uint32_t>(i)};
    if (graph.value(id).requires_grad()) mark(id, kGradient);
  }
  for (ir::ValueId id : graph.outputs()) mark(id, kOutput);
  for (const ir::Node& node : graph.nodes()) {
    const ir::Effects effects = ir::effects_of(graph, node);
    if (effects.writes == 0 && !effects.unknown) continue;
    auto operands = graph.operands(node);
    for (size_t i = 0; i < operands.size(); ++i) {
      if (!effects.unknown && !effects.writes_argument(i)) continue;
      graph.for_each_value(operands[i], [&](ir::ValueId id) { mark(id, kWritten); });
    }
    if (!effects.unknown) continue;
    for (const ir::Input& input : graph.inputs()) mark(input.value, kWritten);
  }
}

}  // namespace stator::pass
