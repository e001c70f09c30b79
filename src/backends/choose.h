// src/backends/choose.h: the program of a captured graph, by the backend that the user asked for.
#pragma once

#include <memory>

#include "capture/domain.h"
#include "torch/tracing/session.h"

namespace stator {

// None or "native": C++ replay. "fused": kernels of its own. "+cuda_graphs" behind either: recorded in CUDA
// graphs. "empty": the outputs of the first run, again and again. Anything else is a
// Python backend, which receives the graph as a torch.fx.GraphModule. See GraphBackend for failures.
std::unique_ptr<TensorProgram> make_program(std::shared_ptr<Session> session, PyObject* backend,
                                            const std::vector<std::string>& sources);

}  // namespace stator
