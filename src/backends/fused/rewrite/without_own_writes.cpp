// src/backends/fused/rewrite/without_own_writes.cpp: alias sets that nobody else sees, as one value after the
// other.
#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "backends/fused/rewrite/graph_copy.h"
#include "backends/fused/rewrite/rewrite.h"
#include "core/ir/effects.h"

namespace stator::fused {
namespace {

using ir::AliasKind;
using ir::ValueId;

// Null if there is none.
const char* functional_name(std::string_view in_place) {
  static const auto* names = new std::unordered_map<std::string_view, const char*>{
#define STATOR_IN_PLACE(in_place, functional) {in_place, functional},
#include "backends/fused/rewrite/in_place_nodes.def"
  };
  const auto found = names->find(in_place);
  return found == names->end() ? nullptr : found->second;
}

bool is_float(ir::DType dtype) {
  return dtype == ir::DType::kF16 || dtype == ir::DType::kBF16 || dtype == ir::DType::kF32 ||
         dtype == ir::DType::kF64;
}

// A write that the operator without "_" computes with the same result.
bool is_replaceable(const ir::Graph& graph, const ir::Node& node) {
  if (!functional_name(graph.op_of(node).name) || node.output_count != 1) return false;
  const ir::Effects effects = ir::effects_of(graph, node);
  const auto operands = graph.operands(node);
  if (effects.writes != 1 || effects.random || effects.unknown || operands.empty() ||
      operands[0].kind != ir::OperandKind::kValue)
    return false;
  const ir::Value& self = graph.value(operands[0].value);
  const ir::Value& result = graph.value(node.first_output);
  bool same = result.alias == AliasKind::kSame && result.base == operands[0].value && is_float(self.dtype);
  graph.for_each_use(node, [&](ValueId id) {
    const ir::Value& value = graph.value(id);
    same = same && value.is_tensor() && value.dtype == self.dtype && value.device == self.device;
  });
  return same;
}

class Rewriter {
 public:
  explicit Rewriter(const ir::Graph& from)
      : from_(from), copy_(from), refused_(from.value_count()), written_(from.value_count()) {}

  ir::Graph run() {
    look();
    std::vector<std::vector<ValueId>> members(from_.value_count());
    for (const ir::Node& node : from_.nodes()) {
      for (ValueId id : ir::Graph::outputs(node)) {
        if (is_rewritten(id)) members[index(from_.value(id).storage)].push_back(id);
      }
    }
    for (const ir::Node& node : from_.nodes()) {
      const bool writes = node.output_count == 1 && is_rewritten(node.first_output) &&
                          ir::effects_of(from_, node).writes != 0;
      if (!writes) {
        copy_.keep(node);
        continue;
      }
      ir::Operator functional = from_.op_of(node);
      functional.name = functional_name(functional.name);
      functional.writes = 0;
      functional.hidden_effect = 0;
      const ir::OpId op = copy_.to().operators().add(std::move(functional));
      const ValueId made = copy_.add(op, copy_.operands(node), copy_.spec(node.first_output), node);
      for (ValueId id : members[index(from_.value(node.first_output).storage)]) copy_.stands_for(id, made);
    }
    return copy_.finish();
  }

 private:
  bool is_rewritten(ValueId id) const {
    const ValueId set = from_.value(id).storage;
    return set != ValueId::kNone && written_[index(set)] != 0 && refused_[index(set)] == 0;
  }

  void refuse(ValueId id) {
    const ValueId set = from_.value(id).storage;
    if (set != ValueId::kNone) refused_[index(set)] = 1;
  }

  void look() {
    for (const ir::Input& input : from_.inputs()) refuse(input.value);
    for (ValueId id : from_.outputs()) refuse(id);
    for (const ir::Node& node : from_.nodes()) {
      for (ValueId id : ir::Graph::outputs(node)) {
        const ir::Value& value = from_.value(id);
        if (value.alias != AliasKind::kFresh && value.alias != AliasKind::kSame) refuse(id);
      }
      const ir::Effects effects = ir::effects_of(from_, node);
      if (effects.writes == 0 && !effects.unknown) continue;
      if (is_replaceable(from_, node)) {
        written_[index(from_.value(node.first_output).storage)] = 1;
        continue;
      }
      from_.for_each_use(node, [&](ValueId id) { refuse(id); });
    }
  }

  const ir::Graph& from_;
  GraphCopy copy_;
  std::vector<char> refused_, written_;  // alias sets
};

}  // namespace

ir::Graph without_own_writes(const ir::Graph& graph) { return Rewriter(graph).run(); }

}  // namespace stator::fused
