// src/backends/fused/program/fused_program.h: the fused backend, as captures call it.
#pragma once

#include <memory>

#include "capture/domain.h"
#include "torch/tracing/session.h"

namespace stator::fused {

// Kernels for what they can compute, torch's operators for the rest. The native program where gradients are
// recorded, or where nothing compiles kernels (stator/backends/fused says so). `records`: in CUDA graphs.
std::unique_ptr<TensorProgram> make_tensor_program(std::shared_ptr<Session> session, bool records);

}  // namespace stator::fused
