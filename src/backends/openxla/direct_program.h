// src/backends/openxla/direct_program.h: a captured graph that XLA runs whole, without torch.fx and AOT
// autograd.
#pragma once

#include <memory>

#include "capture/domain.h"
#include "torch/tracing/session.h"

namespace stator::openxla {

// `backend` has an attribute `compile_stablehlo`: called with the StableHLO, the graph's text and the type of
// the device, it gives what Executable is made of. Null without a Python error: the graph needs gradients,
// has symbolic sizes, has no functional form or has an operator without a rule; it goes the way of torch.fx
// then. Null with one: the runtime refused it.
std::unique_ptr<TensorProgram> make_direct_program(const std::shared_ptr<Session>& session,
                                                   PyObject* backend);

}  // namespace stator::openxla
