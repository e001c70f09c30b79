// src/backends/fused/plan/kernel_maker.h: a group as a kernel.
#pragma once

#include <vector>

#include "backends/fused/plan/groups.h"
#include "backends/fused/plan/memory.h"
#include "backends/fused/plan/plan.h"

namespace stator::fused {

// The kernel of group `number`. `used_outside`, by value: something else than its group reads it.
KernelPlan make_kernel(const ir::Graph& graph, const Memory& memory, const Groups& groups, uint32_t number,
                       const std::vector<char>& used_outside, Rounding rounding);

}  // namespace stator::fused
