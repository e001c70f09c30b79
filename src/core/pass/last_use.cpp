// src/core/pass/last_use.cpp: finds last uses and groups them by node with a counting sort.
#include "core/pass/last_use.h"

namespace stator::pass {

LastUses::LastUses(const ir::Graph& graph)
    : LastUses(graph, graph.nodes().size(), [&graph](size_t step, const Visit& visit) {
        const ir::Node& node = graph.nodes()[step];
        graph.for_each_use(node, visit);
        for (ir::ValueId output : ir::Graph::outputs(node)) visit(output);
      }) {}

LastUses::LastUses(const ir::Graph& graph, size_t steps,
                   const std::function<void(size_t step, const Visit& visit)>& visit_values) {
  std::vector<ir::NodeId> last(graph.value_count(), ir::NodeId::kNone);
  for (size_t i = 0; i < steps; ++i) {
    const ir::NodeId step{static_cast<uint32_t>(i)};
    visit_values(i, [&](ir::ValueId id) { last[index(id)] = step; });
  }
  for (ir::ValueId id : graph.outputs()) last[index(id)] = ir::NodeId::kNone;

  starts_.assign(steps + 1, 0);
  for (ir::NodeId node : last) {
    if (node != ir::NodeId::kNone) ++starts_[index(node) + 1];
  }
  for (size_t i = 0; i < steps; ++i) starts_[i + 1] += starts_[i];
  values_.resize(starts_[steps]);
  std::vector<uint32_t> next = starts_;
  for (size_t i = 0; i < last.size(); ++i) {
    if (last[i] != ir::NodeId::kNone) values_[next[index(last[i])]++] = ir::ValueId{static_cast<uint32_t>(i)};
  }
}

}  // namespace stator::pass
