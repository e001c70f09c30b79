// src/core/pass/last_use.cpp: finds last uses and groups them by node with a counting sort.
#include "core/pass/last_use.h"

namespace stator::pass {

LastUses::LastUses(const ir::Graph& graph) {
  const auto nodes = graph.nodes();
  std::vector<ir::NodeId> last(graph.value_count(), ir::NodeId::kNone);
  for (size_t i = 0; i < nodes.size(); ++i) {
    ir::NodeId node{static_cast<uint32_t>(i)};
    graph.for_each_use(nodes[i], [&](ir::ValueId id) { last[index(id)] = node; });
    for (ir::ValueId output : ir::Graph::outputs(nodes[i])) last[index(output)] = node;
  }
  for (ir::ValueId id : graph.outputs()) last[index(id)] = ir::NodeId::kNone;

  starts_.assign(nodes.size() + 1, 0);
  for (ir::NodeId node : last) {
    if (node != ir::NodeId::kNone) ++starts_[index(node) + 1];
  }
  for (size_t i = 0; i < nodes.size(); ++i) starts_[i + 1] += starts_[i];
  values_.resize(starts_[nodes.size()]);
  std::vector<uint32_t> next = starts_;
  for (size_t i = 0; i < last.size(); ++i) {
    if (last[i] != ir::NodeId::kNone) values_[next[index(last[i])]++] = ir::ValueId{static_cast<uint32_t>(i)};
  }
}

}  // namespace stator::pass
