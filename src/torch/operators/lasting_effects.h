// src/torch/operators/lasting_effects.h: which nodes do what cannot be taken back, should a later one raise.
#pragma once

#include <unordered_set>

#include "core/ir/graph.h"

namespace stator {

// Looks at the nodes of a graph one after the other, also while it grows. A write to a tensor that is older
// than the run lasts, a draw from a generator of the user's, an operator of another library that gives no
// tensor, anything of a function in Python but of a forward that leaves nothing behind.
class LastingEffects {
 public:
  explicit LastingEffects(const ir::Graph& graph) : graph_(graph) {}

  bool is_lasting(const ir::Node& node);
  // Whether any node so far is; looks at each node once.
  bool any();

 private:
  const ir::Graph& graph_;
  std::unordered_set<uint32_t> older_;  // storages of the inputs
  size_t inputs_ = 0, nodes_ = 0;       // looked at
  bool any_ = false;
};

// Where the graph draws random numbers by this node, but for what is_lasting says.
bool draws(const ir::Graph& graph, const ir::Node& node);

}  // namespace stator
