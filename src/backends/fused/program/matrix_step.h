// src/backends/fused/program/matrix_step.h: nodes that torch's product of matrices computes on memory laid
// out as the plan says.
#pragma once

#include <memory>

#include "backends/native/program.h"
#include "core/ir/graph.h"

namespace stator::fused {

// For a linear layer whose result lies in padded rows, and for a convolution of 16-bit floats that looks at
// single points and has its channels last; null for others. Precondition: the node records no gradient.
std::unique_ptr<native::Step> make_matrix_step(const ir::Graph& graph, const ir::Node& node);

}  // namespace stator::fused
