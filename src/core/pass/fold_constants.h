// src/core/pass/fold_constants.h: computes at compile time what depends on constants alone.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/ir/graph.h"

namespace stator::pass {

struct Folded {
  std::shared_ptr<void> object;  // null: not folded
  std::string text;
};

// Runs one node whose value arguments are all defined by stator::constant nodes (or that has none). Supplied
// by the torch layer; it may refuse any node by returning no object, and must not let an exception out.
using Evaluator = std::function<Folded(const ir::Graph& graph, const ir::Node& node)>;

// Larger results are computed anew on each call: keeping them would cost memory that the program gave back.
inline constexpr int64_t kMaxFoldedElements = 1 << 16;

// Folds nodes with one output tensor that is interchangeable (see AliasFacts) and of known, small size. Nodes
// after a change of mode other than grad mode stay: their results depend on it.
void fold_constants(ir::Graph& graph, const Evaluator& evaluate);

}  // namespace stator::pass
