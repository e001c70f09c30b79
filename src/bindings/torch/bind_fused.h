// src/bindings/torch/bind_fused.h: the kernels of a graph's text, for tests and for looking at them.
#pragma once

#include <torch/csrc/utils/pybind.h>

namespace stator {

void bind_fused(py::module_& module);

}  // namespace stator
