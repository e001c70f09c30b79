// src/backends/fused/program/cuda_step.h: a run of a compiled kernel on a CUDA device.
#pragma once

#include <memory>

#include "backends/fused/kernel/cuda_text.h"
#include "backends/fused/plan/plan.h"
#include "backends/native/program.h"

namespace stator::fused {

// `function` is a CUfunction that was compiled of `text`. Launched on torch's current stream of the device.
std::unique_ptr<native::Step> make_cuda_step(const ir::Graph& graph, const KernelPlan& plan,
                                             const CudaText& text, void* function, ir::Device device);

}  // namespace stator::fused
