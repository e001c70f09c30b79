// src/core/ir/graph.cpp: appending to a graph's arrays and changing them in passes.
#include "core/ir/graph.h"

#include <algorithm>

#include "core/shape/context.h"

namespace stator::ir {

Graph::Graph(std::shared_ptr<OperatorTable> operators, std::shared_ptr<UserLines> lines,
             std::shared_ptr<shape::Context> shapes)
    : operators_(operators ? std::move(operators) : std::make_shared<OperatorTable>()),
      lines_(lines ? std::move(lines) : std::make_shared<UserLines>()),
      shapes_(shapes ? std::move(shapes) : std::make_shared<shape::Context>()) {}

namespace {

template <class Pool, class Range>
Operand pooled(OperandKind kind, Pool* pool, const Range& elements) {
  Operand operand;
  operand.kind = kind;
  operand.count = static_cast<uint32_t>(elements.size());
  operand.index = static_cast<uint32_t>(pool->size());
  pool->insert(pool->end(), elements.begin(), elements.end());
  return operand;
}

}  // namespace

Operand Graph::string(std::string_view text) {
  Operand operand;
  operand.kind = OperandKind::kString;
  operand.index = static_cast<uint32_t>(strings_.intern(text));
  return operand;
}

Operand Graph::complex(std::complex<double> number) {
  const double parts[] = {number.real(), number.imag()};
  return pooled(OperandKind::kComplex, &doubles_, std::span(parts));
}

Operand Graph::int_list(std::span<const int64_t> numbers) {
  return pooled(OperandKind::kIntList, &ints_, numbers);
}

Operand Graph::dim_list(std::span<const shape::Dim> dims) {
  if (std::ranges::any_of(dims, &shape::Dim::is_expr)) return pooled(OperandKind::kSymIntList, &dims_, dims);
  Operand operand;
  operand.kind = OperandKind::kIntList;
  operand.count = static_cast<uint32_t>(dims.size());
  operand.index = static_cast<uint32_t>(ints_.size());
  for (shape::Dim dim : dims) ints_.push_back(dim.number());
  return operand;
}

Operand Graph::double_list(std::span<const double> numbers) {
  return pooled(OperandKind::kDoubleList, &doubles_, numbers);
}
Operand Graph::bool_list(std::span<const bool> bits) { return pooled(OperandKind::kBoolList, &ints_, bits); }
Operand Graph::value_list(std::span<const ValueId> values) {
  return pooled(OperandKind::kValueList, &value_lists_, values);
}
Operand Graph::optional_value_list(std::span<const ValueId> values) {
  return pooled(OperandKind::kOptionalValueList, &value_lists_, values);
}
Operand Graph::list(std::span<const Operand> elements) {
  return pooled(OperandKind::kList, &operands_, elements);
}

Operand Graph::constant(std::shared_ptr<void> object, std::string text) {
  Operand operand;
  operand.kind = OperandKind::kOpaque;
  operand.index = static_cast<uint32_t>(constants_.size());
  constants_.push_back({std::move(object), std::move(text)});
  return operand;
}

ValueId Graph::define(ValueId id, const ValueSpec& spec, NodeId node) {
  if (index(id) >= values_.size()) values_.resize(index(id) + 1);
  Value& value = values_[index(id)];
  value.kind = spec.kind;
  value.dtype = spec.dtype;
  value.device = spec.device;
  value.layout = spec.layout;
  value.flags = spec.flags;
  value.alias = spec.alias.kind;
  value.base = spec.alias.base;
  value.storage = spec.alias.kind == AliasKind::kFresh ? id : values_[index(spec.alias.base)].storage;
  value.node = node;
  value.rank = static_cast<uint16_t>(spec.sizes.size());
  value.has_strides = !spec.strides.empty();
  value.dims = static_cast<uint32_t>(dims_.size());
  value.storage_offset = spec.storage_offset;
  dims_.insert(dims_.end(), spec.sizes.begin(), spec.sizes.end());
  dims_.insert(dims_.end(), spec.strides.begin(), spec.strides.end());
  return id;
}

ValueId Graph::add_input(std::string_view name, std::string_view source, const ValueSpec& spec) {
  ValueId id = define(next_value(), spec, NodeId::kNone);
  inputs_.push_back({id, strings_.intern(name), strings_.intern(source)});
  return id;
}

NodeId Graph::append(OpId op, std::span<const Operand> operands, std::span<const ValueSpec> outputs,
                     LineId line) {
  NodeId id{static_cast<uint32_t>(nodes_.size())};
  nodes_.push_back({.op = op,
                    .first_operand = static_cast<uint32_t>(operands_.size()),
                    .operand_count = static_cast<uint32_t>(operands.size()),
                    .first_output = next_value(),
                    .output_count = static_cast<uint32_t>(outputs.size()),
                    .line = line});
  operands_.insert(operands_.end(), operands.begin(), operands.end());
  for (const ValueSpec& spec : outputs) define(next_value(), spec, id);
  return id;
}

void Graph::remove_nodes(const std::vector<bool>& removed) {
  size_t kept = 0;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    NodeId new_id = removed[i] ? NodeId::kNone : NodeId{static_cast<uint32_t>(kept)};
    for (ValueId output : outputs(nodes_[i])) {
      Value& value = values_[index(output)];
      if (removed[i]) {
        value = Value{};
      } else {
        value.node = new_id;
      }
    }
    if (!removed[i]) nodes_[kept++] = nodes_[i];
  }
  nodes_.resize(kept);
}

void Graph::replace_values(std::span<const ValueId> replacement) {
  auto replace = [&](ValueId* id) {
    if (*id != ValueId::kNone) *id = replacement[index(*id)];
  };
  for (Operand& operand : operands_) {
    if (operand.kind == OperandKind::kValue) replace(&operand.value);
  }
  for (ValueId& id : value_lists_) replace(&id);
  for (Value& value : values_) replace(&value.base);
  for (ValueId& id : outputs_) replace(&id);
  recompute_storages();
}

void Graph::rewrite_node(NodeId id, OpId op, std::span<const Operand> operands) {
  Node& node = nodes_[index(id)];
  node.op = op;
  node.first_operand = static_cast<uint32_t>(operands_.size());
  node.operand_count = static_cast<uint32_t>(operands.size());
  operands_.insert(operands_.end(), operands.begin(), operands.end());
  for (ValueId output : outputs(node)) {
    values_[index(output)].alias = AliasKind::kFresh;
    values_[index(output)].base = ValueId::kNone;
  }
  recompute_storages();
}

// A base is defined before what aliases it, so one walk in program order suffices.
void Graph::recompute_storages() {
  auto recompute = [&](ValueId id) {
    Value& value = values_[index(id)];
    value.storage = value.alias == AliasKind::kFresh ? id : values_[index(value.base)].storage;
  };
  for (const Input& input : inputs_) recompute(input.value);
  for (const Node& node : nodes_) {
    for (ValueId output : outputs(node)) recompute(output);
  }
}

void Graph::reserve(size_t nodes) {
  nodes_.reserve(nodes);
  operands_.reserve(nodes * 4);
  values_.reserve(nodes + nodes / 8);
  dims_.reserve(nodes * 6);
}

}  // namespace stator::ir
