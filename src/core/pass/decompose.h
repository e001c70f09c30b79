// src/core/pass/decompose.h: operators that are compositions of others, as these (decompositions.def).
#pragma once

#include <functional>
#include <string_view>

#include "core/ir/graph.h"

namespace stator::pass {

// The graph with its composite operators written out; those that `keeps` says yes to stay whole, for a
// backend that knows them. For graphs in functional form: values that the expressions make have no strides.
ir::Graph decompose(const ir::Graph& graph, const std::function<bool(std::string_view)>& keeps);

}  // namespace stator::pass
