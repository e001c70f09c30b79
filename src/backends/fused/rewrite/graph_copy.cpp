// src/backends/fused/rewrite/graph_copy.cpp: values are mapped, everything else is copied.
#include "backends/fused/rewrite/graph_copy.h"

#include "core/pass/copy_operand.h"

namespace stator::fused {

using ir::ValueId;

GraphCopy::GraphCopy(const ir::Graph& from)
    : from_(from),
      to_(from.shared_operators(), from.shared_lines(), from.shared_shapes()),
      now_(from.value_count(), ValueId::kNone) {
  to_.reserve(from.nodes().size());
  for (const ir::Input& input : from.inputs())
    stands_for(input.value,
               to_.add_input(from.text(input.name), from.text(input.source), spec(input.value, true)));
}

ir::ValueSpec GraphCopy::spec(ValueId old, bool aliases) const {
  const ir::Value& value = from_.value(old);
  ir::Alias alias;
  if (aliases && value.alias != ir::AliasKind::kFresh) alias = {value.alias, now(value.base)};
  return {.kind = value.kind,
          .dtype = value.dtype,
          .device = value.device,
          .layout = value.layout,
          .flags = value.flags,
          .alias = alias,
          .sizes = from_.sizes(old),
          .strides = from_.strides(old),
          .storage_offset = value.storage_offset};
}

std::vector<ir::Operand> GraphCopy::operands(const ir::Node& node) {
  std::vector<ir::Operand> result;
  for (const ir::Operand& operand : from_.operands(node))
    result.push_back(pass::copy_operand(from_, operand, to_, [this](ValueId id) { return now(id); }));
  return result;
}

void GraphCopy::keep(const ir::Node& node) {
  std::vector<ir::ValueSpec> specs;
  for (ValueId id : ir::Graph::outputs(node)) specs.push_back(spec(id, true));
  const ir::NodeId made = to_.append(node.op, operands(node), specs, node.line);
  uint32_t i = 0;
  for (ValueId id : ir::Graph::outputs(node)) stands_for(id, to_.outputs(made)[i++]);
}

ValueId GraphCopy::add(ir::OpId op, std::span<const ir::Operand> operands, const ir::ValueSpec& result,
                       const ir::Node& instead_of) {
  return to_.outputs(to_.append(op, operands, {&result, 1}, instead_of.line))[0];
}

ir::Graph GraphCopy::finish() {
  std::vector<ValueId> outputs;
  for (ValueId id : from_.outputs()) outputs.push_back(now(id));
  to_.set_outputs(outputs);
  return std::move(to_);
}

}  // namespace stator::fused
