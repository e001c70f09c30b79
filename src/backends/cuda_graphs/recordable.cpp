// src/backends/cuda_graphs/recordable.cpp: the rules, node by node.
#include "backends/cuda_graphs/recordable.h"

#include <string_view>
#include <unordered_set>

#include "backends/native/numbers.h"
#include "core/ir/effects.h"
#include "torch/operators/operator_info.h"
#include "torch/operators/operator_table.h"

namespace stator::cuda_graphs {
namespace {

bool waits_for_device(std::string_view operator_name) {
  static const std::unordered_set<std::string_view> kNames = {
#define STATOR_WAITING(name) name,
#include "backends/cuda_graphs/waiting_operators.def"
  };
  const size_t dot = operator_name.find('.');
  return kNames.contains(operator_name.substr(0, dot));
}

class Rules {
 public:
  Rules(const ir::Graph& graph, ir::DeviceType type)
      : graph_(graph), type_(type), is_used_(graph.value_count()) {
    for (const ir::Node& node : graph.nodes())
      graph.for_each_use(node, [&](ir::ValueId id) { is_used_[index(id)] = 1; });
    for (ir::ValueId id : graph.outputs()) is_used_[index(id)] = 1;
  }

  bool holds(const native::Scheduled& scheduled) {
    return scheduled.step ? holds_step(*scheduled.step) : holds_node(graph_.nodes()[scheduled.node]);
  }
  std::optional<ir::Device> device;

 private:
  // A dense tensor on the device, without a history.
  bool fits(ir::ValueId id) {
    const ir::Value& value = graph_.value(id);
    if (value.kind != ir::ValueKind::kTensor || value.device.type != type_) return false;
    if (value.layout != ir::Layout::kStrided) return false;
    if (!device) device = value.device;
    return value.device == *device;
  }

  bool holds_step(const native::Step& step) {
    bool all = true;
    for (uint32_t value : step.uses) all = all && fits(ir::ValueId{value});
    for (uint32_t value : step.makes) all = all && fits(ir::ValueId{value});
    return all;
  }

  bool holds_node(const ir::Node& node) {
    const ir::Operator& op = graph_.op_of(node);
    const OperatorInfo* info = torch_operator(node.op);
    if (!info || op.flags.has(ir::OpFlag::kMode) || native::is_number_operator(node.op)) return false;
    if (info->reads_number || info->kind == OperatorKind::data_dependent) return false;
    if (waits_for_device(op.name) || ir::effects_of(graph_, node).unknown) return false;
    bool all = node.output_count > 0 || !graph_.operands(node).empty();
    for (const ir::Operand& operand : graph_.operands(node)) all = all && fits_operand(operand);
    for (ir::ValueId id : ir::Graph::outputs(node))
      all = all && (fits(id) || is_beside(id)) && !graph_.value(id).requires_grad();
    return all;
  }

  // Attention returns numbers and undefined tensors as well, which nobody uses.
  bool is_beside(ir::ValueId id) const {
    return graph_.value(id).kind != ir::ValueKind::kTensor && is_used_[index(id)] == 0;
  }

  bool fits_operand(const ir::Operand& operand) {
    if (operand.kind == ir::OperandKind::kOpaque) return false;  // a generator of the user's, a layout
    bool all = true;
    graph_.for_each_value(operand, [&](ir::ValueId id) {
      const ir::Value& value = graph_.value(id);
      // Masks as indices are turned into positions, whose number the host must know.
      const bool is_list = operand.kind == ir::OperandKind::kOptionalValueList;
      const bool is_mask = is_list && (value.dtype == ir::DType::kBool || value.dtype == ir::DType::kU8);
      all = all && !is_mask && fits(id);
    });
    return all;
  }

  const ir::Graph& graph_;
  ir::DeviceType type_;
  std::vector<char> is_used_;  // by value
};

}  // namespace

std::optional<c10::Device> mark_recordable(const ir::Graph& graph, c10::DeviceType type,
                                           std::vector<native::Scheduled>& schedule) {
  const auto own = ir::device_type_from_text(c10::DeviceTypeName(type, true));
  if (!own) return {};
  Rules rules(graph, *own);
  bool any = false;
  for (native::Scheduled& scheduled : schedule) {
    scheduled.in_range = rules.holds(scheduled);
    any = any || scheduled.in_range;
  }
  if (!any) return {};
  return c10::Device(type, static_cast<c10::DeviceIndex>(rules.device->index));
}

uint32_t alias_set(const ir::Graph& graph, uint32_t value) {
  const ir::ValueId set = graph.value(ir::ValueId{value}).storage;
  return set == ir::ValueId::kNone ? value : index(set);
}

std::vector<std::vector<uint32_t>> written_sets(const ir::Graph& graph,
                                                const std::vector<native::Scheduled>& schedule) {
  std::vector<std::vector<uint32_t>> sets(schedule.size());
  for (size_t i = 0; i < schedule.size(); ++i) {
    if (schedule[i].step) continue;  // steps write what they make
    const ir::Node& node = graph.nodes()[schedule[i].node];
    const ir::Effects effects = ir::effects_of(graph, node);
    const auto operands = graph.operands(node);
    for (size_t k = 0; k < operands.size(); ++k) {
      if (!effects.writes_argument(k)) continue;
      graph.for_each_value(operands[k], [&](ir::ValueId id) {
        if (graph.value(id).kind == ir::ValueKind::kTensor) sets[i].push_back(alias_set(graph, index(id)));
      });
    }
  }
  return sets;
}

}  // namespace stator::cuda_graphs
