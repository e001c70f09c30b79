// src/core/pass/added_operators.h: operators of ATen that passes put into graphs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/ir/graph.h"

namespace stator::pass {

// `arguments` are all of the operator's, by name: the table of operators keeps the first description it gets.
ir::OpId pure_operator(ir::Graph& graph, std::string_view name, std::vector<std::string> arguments);

ir::OpId reshape_operator(ir::Graph& graph);     // self, shape
ir::OpId conversion_operator(ir::Graph& graph);  // self, dtype, non_blocking, copy, memory_format

}  // namespace stator::pass
