// src/torch/replacements/traced_engine.h: torch's engine, asked for gradients while a session records.
#pragma once

#include <torch/csrc/autograd/edge.h>
#include <torch/csrc/autograd/function.h>

namespace stator {

// The gradients at `ends`, undefined where none comes. All work is done by this thread. Precondition: the GIL
// is held, and the history is made of wrappers of a transform of torch.func, without Python code.
torch::autograd::variable_list run_engine(const torch::autograd::edge_list& roots,
                                          const torch::autograd::variable_list& starts,
                                          const torch::autograd::edge_list& ends, bool keeps_graph = false,
                                          bool creates_graph = false);

}  // namespace stator
