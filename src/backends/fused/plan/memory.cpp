// src/backends/fused/plan/memory.cpp: follows views to their roots where nothing is written.
#include "backends/fused/plan/memory.h"

#include "backends/fused/kernel/llvm_text.h"
#include "core/ir/effects.h"

namespace stator::fused {

using ir::AliasKind;
using ir::ValueId;

Memory::Memory(const ir::Graph& graph, ir::Device device)
    : graph_(graph),
      device_(device),
      facts_(graph),
      roots_(graph.value_count()),
      outputs_(graph.value_count()) {
  for (ValueId id : graph.outputs()) outputs_[index(id)] = 1;
  // A view that is returned is one that torch must have made, and so are those that it is made of.
  std::vector<char> returns_view(graph.value_count());
  for (ValueId id : graph.outputs()) {
    if (graph.value(id).alias != AliasKind::kFresh) returns_view[index(graph.value(id).storage)] = 1;
  }
  for (uint32_t i = 0; i < graph.value_count(); ++i) {
    const ValueId id{i};
    roots_[i] = id;
    const ir::Value& value = graph.value(id);
    if (value.alias != AliasKind::kView && value.alias != AliasKind::kSame) continue;
    if (value.node == ir::NodeId::kNone || returns_view[index(value.storage)]) continue;
    if (!is_plain(id) || !is_plain(value.base) || value.dtype != graph.value(value.base).dtype) continue;
    if (facts_.is_written(id) || !ir::effects_of(graph, graph.node(value.node)).removable()) continue;
    const ValueId root = roots_[index(value.base)];
    if (graph.value(root).dtype == value.dtype) roots_[i] = root;
  }
}

// A CPU has no number, or 0.
bool Memory::is_here(ir::Device device) const {
  return device.type == device_.type && (device.type == ir::DeviceType::kCpu || device == device_);
}

bool Memory::is_plain(ValueId id) const {
  const ir::Value& value = graph_.value(id);
  return value.is_tensor() && value.layout == ir::Layout::kStrided && is_here(value.device) &&
         (value.flags & (ir::kConjugate | ir::kNegative)) == 0 && (value.has_strides || value.rank == 0);
}

bool Memory::is_readable(ValueId id) const {
  return is_plain(id) && arithmetic_type(graph_.value(id).dtype) && !facts_.is_written(id);
}

bool Memory::is_renamed(ValueId id, const std::vector<char>& skipped) const {
  const ValueId root = roots_[index(id)];
  if (root == id) return true;
  if (!(graph_.value(id).storage_offset == graph_.value(root).storage_offset)) return false;
  const auto sizes = graph_.sizes(id), strides = graph_.strides(id);
  const auto root_sizes = graph_.sizes(root), root_strides = graph_.strides(root);
  size_t at = 0;
  const auto skip_ones = [&] {
    while (at < root_sizes.size() && root_sizes[at] == shape::Dim(1)) ++at;
  };
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == shape::Dim(1) || (!skipped.empty() && skipped[d] != 0)) continue;
    skip_ones();
    if (at == root_sizes.size() || !(root_sizes[at] == sizes[d]) || !(root_strides[at] == strides[d]))
      return false;
    ++at;
  }
  skip_ones();
  return at == root_sizes.size();
}

}  // namespace stator::fused
