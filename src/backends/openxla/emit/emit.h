// src/backends/openxla/emit/emit.h: a functional graph as StableHLO.
#pragma once

#include <string>
#include <vector>

#include "core/ir/graph.h"
#include "core/result.h"

namespace stator::openxla {

struct EmitOptions {
  std::string precision = "HIGHEST";  // of products: DEFAULT, HIGH or HIGHEST
};

// A node that cannot be emitted, and why.
struct Refusal {
  size_t node;
  std::string reason;
};

// Inputs and outputs whose strides are a permutation of compact ones cross the border in the order of their
// memory, so that they need no copy; the transpositions are part of the program.
Result<std::string, Refusal> emit(const ir::Graph& graph, const EmitOptions& options);

// The nodes that run outside XLA: each is tried by itself.
std::vector<Refusal> refusals(const ir::Graph& graph, const EmitOptions& options);

}  // namespace stator::openxla
