// src/backends/fused/kernel/stages.h: in which pass over a row each term of a kernel is computed.
//
// A term is full (one value an element), or of a row. The stage of a term is the number of reductions in a
// chain that it waits for. Each row makes one pass a stage: it computes the reductions and stores whose
// operands are of that stage.
#pragma once

#include <vector>

#include "backends/fused/kernel/kernel.h"

namespace stator::fused {

constexpr bool is_reduction(Op op) {
  return op == Op::reduce_sum || op == Op::reduce_max || op == Op::reduce_min;
}
// Costs more than memory.
constexpr bool is_function(Op op) {
  return op == Op::exp || op == Op::log || op == Op::tanh || op == Op::erf;
}

// Whether the access differs among the elements of a row.
bool is_whole(const Kernel& kernel, const Access& access);

struct Stages {
  explicit Stages(const Kernel& kernel);

  std::vector<char> full;  // by term
  std::vector<int> of;     // by term
  int last = 0;

  // What a pass computes.
  struct Pass {
    std::vector<TermId> reductions;
    std::vector<size_t> stores;
    bool empty() const { return reductions.empty() && stores.empty(); }
  };
  Pass pass(const Kernel& kernel, int stage) const;
};

}  // namespace stator::fused
