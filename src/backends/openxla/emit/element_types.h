// src/backends/openxla/emit/element_types.h: calls that torch's kernels raise for because of their element
// types.
#pragma once

#include <optional>
#include <string>

#include "core/ir/graph.h"

namespace stator::openxla {

// The operator of the first such call. The shapes of a graph with one can be inferred, but eager code raises;
// XLA would compute something, or end the process (an order of complex numbers).
std::optional<std::string> raising_call(const ir::Graph& graph);

}  // namespace stator::openxla
