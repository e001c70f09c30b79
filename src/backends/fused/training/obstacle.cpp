// src/backends/fused/training/obstacle.cpp: one walk over the nodes.
#include "backends/fused/training/obstacle.h"

#include <optional>

#include "backends/fused/training/dropout_step.h"
#include "core/ir/effects.h"
#include "torch/operators/operator_info.h"
#include "torch/operators/operator_table.h"

namespace stator::fused {
namespace {

std::string of_node(const ir::Graph& graph, const ir::Node& node) {
  const std::string& name = graph.op_of(node).name;
  if (node.op == ir::op::kSetGradEnabled || node.op == ir::op::kAutocastEnter ||
      node.op == ir::op::kAutocastExit || node.op == ir::op::kConstant)
    return {};
  const ir::Effects effects = ir::effects_of(graph, node);
  // Python code, checkpointed regions, seeds, `x.data = y`, leaves that are made.
  if (effects.mode || effects.unknown || !torch_operator(node.op) || name.starts_with("aten::requires_grad"))
    return name;
  if (draws_otherwise(graph, node)) return name;
  for (ir::ValueId id : ir::Graph::outputs(node)) {
    const ir::ValueKind kind = graph.value(id).kind;
    if (kind != ir::ValueKind::kTensor && kind != ir::ValueKind::kNone) return name;
  }
  return {};
}

}  // namespace

std::string training_obstacle(const Session& session) {
  const ir::Graph& graph = session.graph;
  std::optional<ir::Device> cuda;
  if (session.has_read || session.has_last_read) return "a number is read off a tensor";
  for (const ir::Input& input : graph.inputs()) {
    const ir::Value& value = graph.value(input.value);
    if (!value.is_tensor()) return "a number that differs from call to call";
    if (value.device.type == ir::DeviceType::kCuda) {
      if (cuda && *cuda != value.device) return "arguments on several devices";
      cuda = value.device;
    } else if (value.device.type != ir::DeviceType::kCpu) {
      return "an argument that is neither on the CPU nor on CUDA";
    }
    if (value.layout != ir::Layout::kStrided || (value.flags & (ir::kConjugate | ir::kNegative)) != 0)
      return "an argument that is not strided";
  }
  for (const ir::Node& node : graph.nodes()) {
    if (std::string name = of_node(graph, node); !name.empty()) return "the operator " + name;
  }
  for (ir::ValueId id : graph.outputs()) {
    if (!graph.value(id).is_tensor()) return "a result that is a number";
  }
  return {};
}

}  // namespace stator::fused
