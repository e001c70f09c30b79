// src/core/pass/out_of_place.cpp: the last use of each value, and one walk over the writes.
#include "core/pass/out_of_place.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/ir/effects.h"

namespace stator::pass {

using ir::AliasKind;
using ir::ValueId;

namespace {

const std::string* function_of(const std::string& name) {
  static const std::unordered_map<std::string_view, std::string> table = {
#define STATOR_OUT_OF_PLACE(in_place, function) {in_place, function},
#include "core/pass/out_of_place.def"
  };
  const auto found = table.find(name);
  return found == table.end() ? nullptr : &found->second;
}

// In place the result has the type of the tensor that is written, whatever others would promote it to.
bool keeps_type(const ir::Graph& graph, const ir::Node& node) {
  const ir::Value& self = graph.value(graph.operands(node)[0].value);
  bool keeps = self.dtype == ir::DType::kF32 || self.dtype == ir::DType::kF64 ||
               self.dtype == ir::DType::kF16 || self.dtype == ir::DType::kBF16;
  graph.for_each_use(node, [&](ValueId id) {
    const ir::Value& value = graph.value(id);
    keeps = keeps && value.is_tensor() && (value.dtype == self.dtype || value.dtype == ir::DType::kBool) &&
            value.device == self.device;
  });
  return keeps;
}

// Dense, in the order of its dimensions: a function gives its result the strides that the memory had.
bool is_contiguous(const ir::Graph& graph, ValueId id) {
  const auto sizes = graph.sizes(id), strides = graph.strides(id);
  int64_t next = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    if (sizes[d].is_expr() || strides[d].is_expr() || sizes[d].number() == 0) return false;
    if (sizes[d].number() != 1 && strides[d].number() != next) return false;
    next *= sizes[d].number();
  }
  return true;
}

}  // namespace

void write_out_of_place(ir::Graph& graph) {
  constexpr size_t kEnd = SIZE_MAX;
  std::vector<size_t> last(graph.value_count(), 0);  // node that uses it
  for (size_t i = 0; i < graph.nodes().size(); ++i)
    graph.for_each_use(graph.nodes()[i], [&](ValueId id) { last[index(id)] = i; });
  for (ValueId id : graph.outputs()) last[index(id)] = kEnd;
  for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
    const ir::Node node = graph.nodes()[i];
    const std::string* function = function_of(graph.op_of(node).name);
    if (!function || node.output_count != 1 || ir::effects_of(graph, node).writes != 1) continue;
    const std::vector<ir::Operand> operands(graph.operands(node).begin(), graph.operands(node).end());
    if (operands.empty() || operands[0].kind != ir::OperandKind::kValue) continue;
    const ValueId self = operands[0].value, result = node.first_output;
    const ir::Value& memory = graph.value(graph.value(self).storage);
    if (memory.node == ir::NodeId::kNone || graph.value(result).alias != AliasKind::kSame ||
        graph.value(result).base != self || !keeps_type(graph, node) || !is_contiguous(graph, self))
      continue;
    const bool broadcasts = !std::ranges::equal(graph.sizes(self), graph.sizes(result));
    bool is_alone = !broadcasts;
    for (uint32_t v = 0; is_alone && v < graph.value_count(); ++v) {
      const ir::Value& other = graph.value(ValueId{v});
      if (other.kind == ir::ValueKind::kUndefined || other.storage != graph.value(self).storage) continue;
      const bool is_made_later = other.node != ir::NodeId::kNone && index(other.node) >= i;
      if (is_made_later) continue;
      // It is the whole memory, and nothing of before is read again.
      is_alone = other.alias != AliasKind::kShares && last[v] <= i &&
                 (ValueId{v} != self || graph.value(self).alias != AliasKind::kView);
    }
    // A view that is made later is one of the result or of what follows from it.
    if (!is_alone) continue;
    ir::Operator op = graph.op_of(node);
    op.name = *function;
    op.writes = 0;
    op.hidden_effect = 0;
    graph.rewrite_node(ir::NodeId{i}, graph.operators().add(std::move(op)), operands);
  }
}

}  // namespace stator::pass
