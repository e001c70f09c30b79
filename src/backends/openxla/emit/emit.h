// src/backends/openxla/emit/emit.h: a functional graph as StableHLO.
#pragma once

#include <string>
#include <vector>

#include "backends/openxla/emit/builder.h"
#include "core/ir/graph.h"
#include "core/result.h"

namespace stator::openxla {

struct EmitOptions {
  Precision precision;
  // Whether the program tells if what eager kernels check holds: Builder::require.
  bool checked = true;
};

struct Emitted {
  std::string text;
  // The last result, after those of the graph, is a boolean: false where eager code would have raised.
  bool tells_if_valid = false;
};

// A node that cannot be emitted, and why.
struct Refusal {
  size_t node;
  std::string reason;
};

// Inputs and outputs whose strides are a permutation of compact ones cross the border in the order of their
// memory, so that they need no copy; the transpositions are part of the program.
Result<Emitted, Refusal> emit(const ir::Graph& graph, const EmitOptions& options);

// The nodes that run outside XLA: each is tried by itself.
std::vector<Refusal> refusals(const ir::Graph& graph, const EmitOptions& options);

}  // namespace stator::openxla
