// src/backends/openxla/emit/border.h: in which order the dimensions of inputs and outputs cross into XLA.
#pragma once

#include "backends/openxla/emit/builder.h"
#include "core/ir/graph.h"

namespace stator::openxla {

Dims sizes_of(const ir::Graph& graph, ir::ValueId id);  // throws Unsupported if one is symbolic

// order[i]: the dimension that is i-th in memory, outermost first. The identity unless the strides are those
// of a compact tensor with its dimensions in another order (channels last, a transposed matrix): such a
// tensor crosses as its memory lies, without a copy, and the program transposes it.
Dims border_order(const ir::Graph& graph, ir::ValueId id);

// Whether the strides are those of a compact tensor with its dimensions in some order.
bool is_dense(const ir::Graph& graph, ir::ValueId id);

Dims inverse(const Dims& permutation);
Dims permuted(const Dims& dims, const Dims& order);

}  // namespace stator::openxla
