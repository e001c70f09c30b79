// src/core/pass/out_of_place.h: in-place operators whose memory nobody else sees become functions.
#pragma once

#include "core/ir/graph.h"

namespace stator::pass {

// `relu_(y)` of a `y` that a node made, that no view shares, and that is not read as it was before, becomes
// `relu(y)`: what is not written can be fused and computed again. Random operators draw as before.
void write_out_of_place(ir::Graph& graph);

}  // namespace stator::pass
