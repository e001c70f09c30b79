// src/bindings/torch/bind_trace.h: binds tracing without the interpreter: run a function on tracers, replay
// its graph.
#pragma once

#include <torch/csrc/utils/pybind.h>

namespace stator {

void bind_trace(py::module_& module);

}  // namespace stator
