// src/backends/fused/training/returned_views.h: results of a graph that are views, made without operators.
#pragma once

#include <ATen/core/ivalue.h>

#include <optional>
#include <vector>

#include "backends/fused/program/layout.h"

namespace stator::fused {

// Makes the graph return the memory that its results are views of, and the views of that afterwards. For
// graphs whose results autograd is told nothing of: who they share memory with is not seen.
class ReturnedViews {
 public:
  ReturnedViews() = default;
  explicit ReturnedViews(ir::Graph& graph);

  void apply(std::vector<c10::IValue>& results) const;

 private:
  struct View {
    size_t result;
    Layout layout, root;
    int64_t offset;  // of its first element behind the root's
    bool is_root;    // when that lies as the graph says
  };
  std::vector<View> views_;
};

}  // namespace stator::fused
