// src/backends/traces.h: what a run that fails in the middle leaves behind.
//
// A kernel may refuse what it is given (an index out of range, a singular matrix). The user is to see what
// eager code raises there, from the user's own line and past the user's own handlers: if nothing that the run
// did can be noticed, the function is simply run natively from its start.
#pragma once

#include <ATen/core/Generator.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "core/ir/graph.h"

namespace stator {

struct RunTraces {
  size_t first = SIZE_MAX;  // the first node that does what cannot be taken back: a write to an input, a
                            // draw from a generator of the user's, anything of a function in Python
                            // but of a forward that leaves nothing behind
  bool has_modes = false;
  std::vector<c10::Device> drawn;  // devices whose own generators are drawn from
};

RunTraces traces_of(const ir::Graph& graph);

// The generators as they were before a run.
class RandomState {
 public:
  explicit RandomState(const RunTraces& traces);
  void restore();

 private:
  std::vector<std::pair<at::Generator, at::Generator>> states_;  // generator, copy
};

}  // namespace stator
