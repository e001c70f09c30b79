// src/core/pass/last_use.h: after which node a replay may drop each value.
#pragma once

#include <cstdint>
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

  // What dies after the node, each once, in no particular order.
  std::span<const ir::ValueId> after(ir::NodeId node) const {
    return {values_.data() + starts_[index(node)], starts_[index(node) + 1] - starts_[index(node)]};
  }

 private:
  std::vector<uint32_t> starts_;  // by node, and the end
  std::vector<ir::ValueId> values_;
};

}  // namespace stator::pass
