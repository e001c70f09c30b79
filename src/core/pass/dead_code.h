// src/core/pass/dead_code.h: removes nodes that nobody can notice.
#pragma once

#include "core/ir/graph.h"

namespace stator::pass {

// Removes a node if none of its outputs is used and it only computes them. What draws random numbers, writes,
// changes a mode, may raise depending on data or is unknown stays, and so does what it needs.
void remove_dead_code(ir::Graph& graph);

}  // namespace stator::pass
