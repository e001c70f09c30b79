// src/core/pass/graph_copier.h: parts of a graph as a graph of their own.
#pragma once

#include <string_view>
#include <vector>

#include "core/ir/graph.h"

namespace stator::pass {

// Copies inputs and nodes of one graph, in any order that has operands before their users. What shares memory
// with a value that is not copied has memory of its own in the copy. Gradients are not recorded there.
class GraphCopier {
 public:
  explicit GraphCopier(const ir::Graph& from);

  bool has(ir::ValueId id) const { return now_[index(id)] != ir::ValueId::kNone; }
  // The value of the copy that stands for one of the original; kNone if it is not there.
  ir::ValueId operator()(ir::ValueId id) const { return now_[index(id)]; }

  // Any value may become an input.
  void add_input(std::string_view name, std::string_view source, ir::ValueId id, bool keeps_sharing);
  void add_node(const ir::Node& node);
  ir::Graph& graph() { return to_; }

 private:
  ir::ValueSpec spec_of(ir::ValueId id) const;

  const ir::Graph& from_;
  ir::Graph to_;
  std::vector<ir::ValueId> now_;  // by the original's id
};

}  // namespace stator::pass
