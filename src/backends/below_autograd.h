// src/backends/below_autograd.h: nodes whose operator ran below autograd when it was captured.
#pragma once

#include "core/ir/graph.h"
#include "torch/operators/operator_info.h"

namespace stator {

// Python's factory functions (randint_like) call torch below autograd. It shows where an operator without a
// derivative has outputs without a history.
bool was_below_autograd(const ir::Graph& graph, const ir::Node& node, const OperatorInfo& info);

}  // namespace stator
