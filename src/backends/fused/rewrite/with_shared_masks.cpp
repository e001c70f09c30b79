// src/backends/fused/rewrite/with_shared_masks.cpp: layers of attention convert an equal mask once.
#include <algorithm>
#include <vector>

#include "backends/fused/rewrite/graph_copy.h"
#include "backends/fused/rewrite/rewrite.h"
#include "core/ir/effects.h"
#include "core/pass/added_operators.h"
#include "core/pass/alias_facts.h"

namespace stator::fused {
namespace {

using ir::Operand;
using ir::OperandKind;
using ir::ValueId;

constexpr size_t kTensors = 4;  // query, key, value, mask

bool is_attention(const ir::Graph& graph, const ir::Node& node) {
  const auto operands = graph.operands(node);
  return graph.op_of(node).name == "aten::scaled_dot_product_attention" && operands.size() == 8 &&
         std::ranges::all_of(operands.first(kTensors),
                             [](const Operand& each) { return each.kind == OperandKind::kValue; }) &&
         graph.value(operands[3].value).dtype == ir::DType::kBool;
}

// Whether torch chooses the same kernel for both.
bool is_chosen_alike(const ir::Graph& graph, const ir::Node& a, const ir::Node& b) {
  const auto mine = graph.operands(a), others = graph.operands(b);
  for (size_t i = 0; i < kTensors - 1; ++i) {
    const ir::Value &x = graph.value(mine[i].value), &y = graph.value(others[i].value);
    if (x.dtype != y.dtype || !(x.device == y.device) ||
        !std::ranges::equal(graph.sizes(x), graph.sizes(y)) ||
        !std::ranges::equal(graph.strides(x), graph.strides(y)))
      return false;
  }
  for (size_t i = kTensors; i < mine.size(); ++i) {
    const Operand &x = mine[i], &y = others[i];
    const bool same = x.kind == y.kind && (x.kind == OperandKind::kNone ||
                                           (x.kind == OperandKind::kBool && x.boolean == y.boolean) ||
                                           (x.kind == OperandKind::kDouble && x.real == y.real));
    if (!same) return false;
  }
  return mine[3].value == others[3].value;
}

}  // namespace

ir::Graph with_shared_masks(const ir::Graph& graph) {
  const pass::AliasFacts facts(graph);
  GraphCopy copy(graph);
  std::vector<std::pair<const ir::Node*, ValueId>> converted;
  for (const ir::Node& node : graph.nodes()) {
    // Another kernel may be chosen behind a change of modes.
    const ir::Effects effects = ir::effects_of(graph, node);
    if (effects.mode || effects.unknown) converted.clear();
    if (!is_attention(graph, node) || facts.is_written(graph.operands(node)[3].value)) {
      copy.keep(node);
      continue;
    }
    auto found = std::ranges::find_if(
        converted, [&](const auto& each) { return is_chosen_alike(graph, *each.first, node); });
    std::vector<Operand> operands = copy.operands(node);
    if (found == converted.end()) {
      const ValueId mask = graph.operands(node)[3].value;
      ir::ValueSpec spec = copy.spec(mask);
      spec.dtype = graph.value(graph.operands(node)[0].value).dtype;
      spec.flags = 0;
      spec.storage_offset = 0;
      const ir::OpId op = pass::pure_operator(
          copy.to(), kConvertedMask,
          {"query", "key", "value", "attn_mask", "dropout_p", "is_causal", "scale", "enable_gqa"});
      converted.emplace_back(&node, copy.add(op, operands, spec, node));
      found = converted.end() - 1;
    }
    operands[3] = Operand::of(found->second);
    copy.stands_for(node.first_output, copy.add(node.op, operands, copy.spec(node.first_output), node));
  }
  return copy.finish();
}

}  // namespace stator::fused
