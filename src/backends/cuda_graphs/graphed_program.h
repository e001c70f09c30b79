// src/backends/cuda_graphs/graphed_program.h: a native or fused program whose work is recorded in CUDA
// graphs.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/native/program.h"
#include "torch/tracing/session.h"

namespace stator::cuda_graphs {

// What is known of the values that cross the borders of a graph.
struct Borders {
  std::vector<char> is_fixed;   // by input: it lies in another place only now and then, as a parameter does
  size_t lent_from = SIZE_MAX;  // outputs from here on stay in the recording's memory (Loan)
};

std::vector<char> fixed_inputs(const Session& session);

// The program of the schedule, in which what CUDA graphs can hold is recorded at the second run and replayed
// from the third on. A program without such work is the plain one.
native::Program make_program(const Session& session, std::vector<native::Scheduled> schedule);
native::Program make_program(const ir::Graph& graph, const Borders& borders,
                             std::vector<native::Scheduled> schedule);

}  // namespace stator::cuda_graphs
