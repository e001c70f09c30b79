// src/backends/fused/training/obstacle.h: which captured graphs with gradients are not compiled.
#pragma once

#include <string>

#include "torch/tracing/session.h"

namespace stator::fused {

// Why the graph runs as by `native`; empty where it may be traced.
std::string training_obstacle(const Session& session);

}  // namespace stator::fused
