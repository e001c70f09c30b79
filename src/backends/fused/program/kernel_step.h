// src/backends/fused/program/kernel_step.h: a run of a compiled kernel, and of views that need no operator.
#pragma once

#include <memory>

#include "backends/fused/plan/plan.h"
#include "backends/native/program.h"

namespace stator::fused {

// What llvm_text describes.
using Function = void (*)(const int64_t* arguments, int64_t begin, int64_t end);

std::unique_ptr<native::Step> make_kernel_step(const ir::Graph& graph, const KernelPlan& plan,
                                               Function function, const std::vector<char>& aligned = {});

// Puts the value there as a view of its root.
std::unique_ptr<native::Step> make_view_step(const ir::Graph& graph, ir::ValueId value, ir::ValueId root);

}  // namespace stator::fused
