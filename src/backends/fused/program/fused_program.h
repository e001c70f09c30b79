// src/backends/fused/program/fused_program.h: the fused backend, as captures call it.
#pragma once

#include <memory>
#include <optional>

#include "backends/cuda_graphs/graphed_program.h"
#include "backends/native/program.h"
#include "capture/domain.h"
#include "torch/tracing/session.h"

namespace stator::fused {

// Optimises a part of a training graph, which records no gradients, and compiles it; nothing where kernels
// cannot be compiled. `borders`: it is recorded in CUDA graphs. The GIL is held.
std::optional<native::Program> compiled(ir::Graph& graph, const std::optional<cuda_graphs::Borders>& borders);

// Kernels for what they can compute, torch's operators for the rest; with a compiled backward where gradients
// are recorded. The native program where nothing compiles kernels (stator/backends/fused says so). `records`:
// in CUDA graphs.
std::unique_ptr<TensorProgram> make_tensor_program(std::shared_ptr<Session> session, bool records);

}  // namespace stator::fused
