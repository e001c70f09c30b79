// src/backends/fused/training/training_program.h: the fused backend where autograd records.
#pragma once

#include <memory>

#include "capture/domain.h"
#include "torch/tracing/session.h"

namespace stator::fused {

// Forward and backward compiled, and one node of autograd for both; what cannot be proved to come out as
// eager's (training/obstacle.h) is left to `native`: null, and a line in the log. `records`: each of the two
// in CUDA graphs.
std::unique_ptr<TensorProgram> make_training_program(std::shared_ptr<Session> session, bool records);

}  // namespace stator::fused
