// src/backends/fused/program/constant_evaluator.h: computes nodes of constants when a graph is compiled.
#pragma once

#include "core/pass/fold_constants.h"

namespace stator::fused {

// By torch's kernel, on the CPU. Refuses what comes out otherwise than the graph says.
pass::Folded evaluate_constant(const ir::Graph& graph, const ir::Node& node);

}  // namespace stator::fused
