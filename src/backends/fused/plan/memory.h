// src/backends/fused/plan/memory.h: which values a kernel may read from the memory of another value.
#pragma once

#include <vector>

#include "core/ir/graph.h"
#include "core/pass/alias_facts.h"

namespace stator::fused {

// Views need no operator: a value in memory that nobody writes is the memory of its root, seen with sizes,
// strides and an offset that the graph knows.
class Memory {
 public:
  // Kernels run on `device`.
  Memory(const ir::Graph& graph, ir::Device device);

  // The value whose memory is read for this one: itself, or the root of views that are folded.
  ir::ValueId root(ir::ValueId id) const { return roots_[index(id)]; }
  bool is_folded(ir::ValueId id) const { return roots_[index(id)] != id; }
  // A strided tensor on the device, of a type that kernels have, whose contents never change.
  bool is_readable(ir::ValueId id) const;
  // The same elements in the same order as its root, apart from dimensions of size 1, and apart from those
  // of the value that are `skipped` (none if that is empty).
  bool is_renamed(ir::ValueId id, const std::vector<char>& skipped = {}) const;
  // Graph outputs.
  bool is_output(ir::ValueId id) const { return outputs_[index(id)]; }

 private:
  bool is_here(ir::Device device) const;
  bool is_plain(ir::ValueId id) const;

  const ir::Graph& graph_;
  ir::Device device_;
  pass::AliasFacts facts_;
  std::vector<ir::ValueId> roots_;
  std::vector<char> outputs_;
};

}  // namespace stator::fused
