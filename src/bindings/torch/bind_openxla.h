// src/bindings/torch/bind_openxla.h: the OpenXLA backend's part of stator._torch.
#pragma once

#include <torch/csrc/utils/pybind.h>

namespace stator {

void bind_openxla(py::module_& module);

}  // namespace stator
