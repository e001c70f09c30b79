// src/torch/operators/lasting_effects.cpp: finds writes to older tensors and what else a run leaves behind.
#include "torch/operators/lasting_effects.h"

#include <c10/core/Device.h>

#include <algorithm>

#include "core/ir/effects.h"
#include "torch/replacements/allowed_call.h"

namespace stator {
namespace {

uint32_t storage_of(const ir::Graph& graph, ir::ValueId id) {
  const ir::Value& value = graph.value(id);
  return value.storage == ir::ValueId::kNone ? index(id) : index(value.storage);
}

bool has_generator(const ir::Graph& graph, const ir::Node& node) {
  return std::ranges::any_of(graph.operands(node), [](const ir::Operand& operand) {
    return operand.kind == ir::OperandKind::kOpaque;
  });
}

// An operator of another library. One that writes to none of its arguments and gives tensors computes them,
// by the contract of its schema: it may be run once more. What gives nothing is run for what it does, objects
// may be changed behind their arguments, and other processes take part in a collective once.
bool may_be_repeated(const ir::Graph& graph, const ir::Node& node) {
  const std::string_view name = graph.op_of(node).name;
  return node.output_count != 0 && !has_generator(graph, node) && !name.starts_with("c10d") &&
         !name.starts_with("_c10d");
}

// nullptr: the node calls no function in Python.
const OpaqueFunction* called_function(const ir::Graph& graph, const ir::Node& node) {
  if (node.op != ir::op::kCall) return nullptr;
  return static_cast<const OpaqueFunction*>(graph.constant(graph.operands(node)[0]).object.get());
}

}  // namespace

bool draws(const ir::Graph& graph, const ir::Node& node) {
  if (node.op != ir::op::kCall) return effects_of(graph, node).random;
  const OpaqueFunction* function = called_function(graph, node);
  return function != nullptr && function->draws;
}

bool LastingEffects::is_lasting(const ir::Node& node) {
  const auto inputs = graph_.inputs();
  for (; inputs_ < inputs.size(); inputs_++) older_.insert(storage_of(graph_, inputs[inputs_].value));
  if (node.op == ir::op::kCall) {
    const OpaqueFunction* function = called_function(graph_, node);
    if (function == nullptr || !function->leaves_nothing) return true;
  } else {
    const ir::Effects effects = effects_of(graph_, node);
    bool lasts = effects.unknown && !may_be_repeated(graph_, node);
    const auto operands = graph_.operands(node);
    for (size_t i = 0; i < operands.size() && !lasts; i++) {
      if (!effects.writes_argument(i)) continue;
      graph_.for_each_value(operands[i],
                            [&](ir::ValueId id) { lasts |= older_.count(storage_of(graph_, id)) != 0; });
    }
    if (lasts) return true;
  }
  if (!draws(graph_, node)) return false;
  const ir::Device device = node.output_count != 0 ? graph_.value(node.first_output).device : ir::Device{};
  const auto type = static_cast<c10::DeviceType>(device.type);
  return (node.op != ir::op::kCall && has_generator(graph_, node)) ||
         (type != c10::DeviceType::CPU && type != c10::DeviceType::CUDA);
}

bool LastingEffects::any() {
  const auto nodes = graph_.nodes();
  for (; nodes_ < nodes.size() && !any_; nodes_++) any_ = is_lasting(nodes[nodes_]);
  return any_;
}

}  // namespace stator
