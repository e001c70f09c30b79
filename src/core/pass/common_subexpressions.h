// src/core/pass/common_subexpressions.h: computes once what the graph computes twice.
#pragma once

#include "core/ir/graph.h"

namespace stator::pass {

// A node gives way to an earlier one with the same operator, arguments and output types if no mode changed in
// between, both only compute, no alias set of an argument or output is ever written, and no alias set of an
// output contains a graph output or needs a gradient: merging two `x * 0.1` would change the bits of
// gradients.
void merge_common_subexpressions(ir::Graph& graph);

}  // namespace stator::pass
