// src/backends/fused/rewrite/graph_copy.h: a graph written anew, node by node, by a pass that puts other
// nodes in the place of some.
#pragma once

#include <span>
#include <vector>

#include "core/ir/graph.h"

namespace stator::fused {

class GraphCopy {
 public:
  // With the inputs of `from`, in their order.
  explicit GraphCopy(const ir::Graph& from);

  // The value that stands for one of the old graph.
  ir::ValueId now(ir::ValueId old) const { return now_[index(old)]; }
  void stands_for(ir::ValueId old, ir::ValueId made) { now_[index(old)] = made; }

  // Appends the node as it was; its results stand for the old ones.
  void keep(const ir::Node& node);
  // Appends a node with one result, for a node of the old graph.
  ir::ValueId add(ir::OpId op, std::span<const ir::Operand> operands, const ir::ValueSpec& result,
                  const ir::Node& instead_of);
  // Operands of the old node, with what stands for their values.
  std::vector<ir::Operand> operands(const ir::Node& node);
  // The old value as it was, its memory being another value's only if `aliases`. Spans point into the old
  // graph.
  ir::ValueSpec spec(ir::ValueId old, bool aliases = false) const;

  ir::Graph& to() { return to_; }
  // With the old outputs.
  ir::Graph finish();

 private:
  const ir::Graph& from_;
  ir::Graph to_;
  std::vector<ir::ValueId> now_;  // by the old id
};

}  // namespace stator::fused
