// src/core/pass/graph_copier.cpp: operands and aliases by the ids of the copy.
#include "core/pass/graph_copier.h"

#include "core/pass/added_operators.h"
#include "core/pass/copy_operand.h"

namespace stator::pass {

using ir::ValueId;

GraphCopier::GraphCopier(const ir::Graph& from)
    : from_(from),
      to_(from.shared_operators(), from.shared_lines(), from.shared_shapes()),
      now_(from.value_count(), ValueId::kNone) {}

void GraphCopier::add_input(std::string_view name, std::string_view source, ValueId id, bool keeps_sharing) {
  ir::ValueSpec spec = spec_of(id);
  if (!keeps_sharing) spec.alias = {};
  now_[index(id)] = to_.add_input(name, source, spec);
}

void GraphCopier::add_node(const ir::Node& node) {
  std::vector<ir::Operand> operands;
  for (const ir::Operand& operand : from_.operands(node))
    operands.push_back(copy_operand(from_, operand, to_, [this](ValueId id) { return (*this)(id); }));
  std::vector<ir::ValueSpec> specs;
  for (ValueId id : ir::Graph::outputs(node)) specs.push_back(spec_of(id));
  ir::OpId op = node.op;
  if (from_.op_of(node).name == "aten::_unsafe_view" && operands[0].kind == ir::OperandKind::kValue) {
    // It is a view that autograd is not told of.
    op = pure_operator(to_, "aten::view", {"self", "size"});
    specs[0].alias = ir::Alias::view(operands[0].value);
    specs[0].storage_offset = to_.value(operands[0].value).storage_offset;
  }
  const ir::ValueRange made = to_.outputs(to_.append(op, operands, specs, node.line));
  uint32_t i = 0;
  for (ValueId id : ir::Graph::outputs(node)) now_[index(id)] = made[i++];
}

// Spans point into the original.
ir::ValueSpec GraphCopier::spec_of(ValueId id) const {
  const ir::Value& value = from_.value(id);
  ir::Alias alias{value.alias, value.base};
  if (alias.kind != ir::AliasKind::kFresh) {
    alias.base = now_[index(value.base)];
    if (alias.base == ValueId::kNone) alias = {};
  }
  return {.kind = value.kind,
          .dtype = value.dtype,
          .device = value.device,
          .layout = value.layout,
          .flags = static_cast<uint8_t>(value.flags & ~ir::kRequiresGrad),
          .alias = alias,
          .sizes = from_.sizes(id),
          .strides = from_.strides(id),
          .storage_offset = value.storage_offset};
}

}  // namespace stator::pass
