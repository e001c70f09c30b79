// src/backends/fused/training/dropout_step.h: dropout inside of a level of torch.func, with eager's draws.
#pragma once

#include <memory>

#include "backends/native/program.h"
#include "core/ir/graph.h"

namespace stator::fused {

// Inside of a level torch draws the mask in the order of dimensions, outside in the order of the argument's
// memory. Null: the node is another one.
std::unique_ptr<native::Step> make_dropout_step(const ir::Graph& graph, const ir::Node& node);

// Whether the node draws masks otherwise inside of a level, and no step does it in its place.
bool draws_otherwise(const ir::Graph& graph, const ir::Node& node);

}  // namespace stator::fused
