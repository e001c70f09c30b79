// src/backends/run_recovery.h: what a run that fails in the middle leaves behind.
//
// A kernel may refuse what it is given (an index out of range, a singular matrix). The user is to see what
// eager code raises there, from the user's own line and past the user's own handlers: if nothing that the run
// did can be noticed, the function is simply run natively from its start.
#pragma once

#include <ATen/core/Generator.h>

#include <cstddef>
#include <exception>
#include <utility>
#include <vector>

#include "core/ir/graph.h"

namespace stator {

struct RunTraces {
  size_t first = SIZE_MAX;      // the first node that does what cannot be taken back: a write to an input, a
                                // draw from a generator of the user's, anything of a function in Python
                                // but of a forward that leaves nothing behind
  bool first_is_write = false;  // of one tensor, by an operator
  bool has_modes = false;
  std::vector<c10::Device> drawn;  // devices whose own generators are drawn from
};

RunTraces traces_of(const ir::Graph& graph);

// Whether a node that raised this may have left something behind. Autograd refuses to write to a leaf, or to
// a view of one, and kernels refuse memory that overlaps, before anything is written.
bool left_traces(const RunTraces& traces, size_t node, const std::exception_ptr& error);

// The generators as they were before a run.
class RandomState {
 public:
  explicit RandomState(const RunTraces& traces);
  void restore();

 private:
  std::vector<std::pair<at::Generator, at::Generator>> states_;  // generator, copy
};

}  // namespace stator
