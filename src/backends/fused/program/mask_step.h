// src/backends/fused/program/mask_step.h: a boolean mask as attention's kernels add it.
#pragma once

#include <memory>

#include "backends/native/program.h"
#include "core/ir/graph.h"

namespace stator::fused {

// For a node that with_shared_masks made.
std::unique_ptr<native::Step> make_mask_step(const ir::Graph& graph, const ir::Node& node);

}  // namespace stator::fused
