// src/backends/cuda_graphs/graphed_program.h: a native or fused program whose work is recorded in CUDA
// graphs.
#pragma once

#include <memory>

#include "backends/native/program.h"
#include "torch/tracing/session.h"

namespace stator::cuda_graphs {

// The program of the schedule, in which what CUDA graphs can hold is recorded at the second run and replayed
// from the third on. A program without such work is the plain one.
native::Program make_program(const Session& session, std::vector<native::Scheduled> schedule);

}  // namespace stator::cuda_graphs
