// src/backends/fused/plan/plan.cpp: groups become kernels, and everything gets its place in the run.
#include "backends/fused/plan/plan.h"

#include <algorithm>
#include <map>

#include "backends/fused/plan/groups.h"
#include "backends/fused/plan/kernel_maker.h"
#include "backends/fused/plan/memory.h"

namespace stator::fused {

using ir::ValueId;

namespace {

// Values that somebody else than their own group reads.
std::vector<char> uses_outside(const ir::Graph& graph, const Memory& memory, const Groups& groups,
                               const std::vector<char>& is_step) {
  std::vector<char> used(graph.value_count());
  for (ValueId id : graph.outputs()) used[index(memory.root(id))] = 1;
  for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
    const uint32_t own = groups.of_node(i);
    if (own == Groups::kNone && !is_step[i]) continue;
    groups.for_each_read(graph.nodes()[i], [&](ValueId id) {
      if (own == Groups::kNone || groups.of_value(id) != own) used[index(memory.root(id))] = 1;
    });
  }
  return used;
}

// The nodes that torch runs: neither in a kernel nor a view that is folded, nor what only serves those.
std::vector<char> torch_nodes(const ir::Graph& graph, const Memory& memory, const Groups& groups) {
  std::vector<char> result(graph.nodes().size());
  for (uint32_t i = 0; i < result.size(); ++i) {
    const auto outputs = ir::Graph::outputs(graph.nodes()[i]);
    bool is_folded = outputs.count > 0;
    for (ValueId id : outputs) is_folded = is_folded && memory.is_folded(id);
    result[i] = !is_folded && !groups.is_inlined(i) && groups.of_node(i) == Groups::kNone;
  }
  return result;
}

}  // namespace

std::string obstacle(const ir::Graph& graph) {
  for (const ir::Node& node : graph.nodes()) {
    if (node.op == ir::op::kRegionEnter || node.op == ir::op::kRegionExit) return "a checkpointed region";
    for (ValueId id : ir::Graph::outputs(node)) {
      const ir::Value& value = graph.value(id);
      if (value.requires_grad() && value.alias != ir::AliasKind::kSame) return "gradients are recorded";
    }
  }
  return {};
}

ir::Device kernel_device(const ir::Graph& graph) {
  for (uint32_t i = 0; i < graph.value_count(); ++i) {
    const ir::Value& value = graph.value(ValueId{i});
    if (value.is_tensor() && value.device.type == ir::DeviceType::kCuda) return value.device;
  }
  return {};
}

Plan make_plan(const ir::Graph& graph, Language language, Rounding rounding) {
  const ir::Device device = kernel_device(graph);
  const Memory memory(graph, device);
  const Groups groups(graph, memory, language);
  const std::vector<char> is_step = torch_nodes(graph, memory, groups);
  const std::vector<char> used_outside = uses_outside(graph, memory, groups, is_step);

  Plan plan;
  plan.device = device;
  std::map<int64_t, std::vector<uint32_t>> by_ready;
  for (uint32_t g = 0; g < groups.all().size(); ++g) {
    if (!groups.all()[g].is_merged) by_ready[groups.all()[g].ready].push_back(g);
  }
  const auto waits = [&](uint32_t g) { return std::ranges::count(groups.all()[g].waits_for, char{1}); };
  const auto run_groups = [&](int64_t after) {
    const auto found = by_ready.find(after);
    if (found == by_ready.end()) return;
    // A group that waits for another one waits for all that the other waits for.
    std::ranges::sort(found->second, {}, [&](uint32_t g) { return std::pair(waits(g), g); });
    for (uint32_t g : found->second) {
      KernelPlan made = make_kernel(graph, memory, groups, g, used_outside, rounding);
      if (made.stores.empty()) continue;  // nobody reads it
      plan.steps.push_back({Step::Kind::kernel, static_cast<uint32_t>(plan.kernels.size())});
      plan.kernels.push_back(std::move(made));
    }
  };
  std::vector<char> has_view(graph.value_count());
  run_groups(-1);
  for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
    if (!is_step[i]) continue;
    graph.for_each_use(graph.nodes()[i], [&](ValueId id) {
      if (!memory.is_folded(id) || has_view[index(id)]) return;
      has_view[index(id)] = 1;
      plan.steps.push_back({Step::Kind::view, index(id), memory.root(id)});
    });
    plan.steps.push_back({Step::Kind::node, i});
    run_groups(i);
  }
  return plan;
}

}  // namespace stator::fused
