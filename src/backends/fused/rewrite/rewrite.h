// src/backends/fused/rewrite/rewrite.h: a graph in a form of which kernels can take more.
#pragma once

#include "backends/fused/plan/plan.h"
#include "core/ir/graph.h"

namespace stator::fused {

// Inputs keep their order; what the program can see stays as it is. Precondition: there is no obstacle.
ir::Graph rewritten(const ir::Graph& graph, Language language);

// The passes of it.
// In-place operators on memory that has neither views nor readers outside make a new tensor.
ir::Graph without_own_writes(const ir::Graph& graph);
// A product of float32 adds its bias by an operator of its own: CUDA's products with a bias are slower than
// those without, and the kernel that follows adds it for nothing.
ir::Graph with_separate_bias(const ir::Graph& graph);
// A product of 16-bit floats whose result has an odd number of columns writes rows that are longer; a copy of
// them is the result.
inline constexpr int64_t kAlignedColumns = 8;
ir::Graph with_padded_rows(const ir::Graph& graph);
// Images between convolutions have their channels last.
ir::Graph with_channels_last(const ir::Graph& graph);

}  // namespace stator::fused
