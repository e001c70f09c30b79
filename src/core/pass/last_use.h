// src/core/pass/last_use.h: after which node a replay may drop each value.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/ir/graph.h"

namespace stator::pass {

// A value dies after the last node that uses it, or right after its own node if none does. Graph outputs
// never die; inputs do (the replay drops its own reference), unless nothing uses them. An alias keeps memory
// alive by itself, so dying is a matter of single values, as in eager.
class LastUses {
 public:
  explicit LastUses(const ir::Graph& graph);
  // Of a run that does something else than the nodes in their order: `visit_values(i, visit)` visits what its
  // step i uses and makes.
  using Visit = std::function<void(ir::ValueId)>;
  LastUses(const ir::Graph& graph, size_t steps,
           const std::function<void(size_t step, const Visit& visit)>& visit_values);

  // What dies after the node or step, each once, in no particular order.
  std::span<const ir::ValueId> after(ir::NodeId node) const {
    return {values_.data() + starts_[index(node)], starts_[index(node) + 1] - starts_[index(node)]};
  }

 private:
  std::vector<uint32_t> starts_;  // by node, and the end
  std::vector<ir::ValueId> values_;
};

}  // namespace stator::pass
