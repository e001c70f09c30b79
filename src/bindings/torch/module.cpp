// src/bindings/torch/module.cpp: the extension module stator._torch.
#include <torch/csrc/utils/pybind.h>

#include "bindings/torch/bind_trace.h"
#include "torch/capture_break.h"
#include "torch/dispatch_fallback.h"

PYBIND11_MODULE(_torch, module) {
  module.doc() = "Stator's torch layer: tracers, shape rules and native replay.";
  stator::install_dispatch_fallback();
  module.attr("CaptureBreak") = py::reinterpret_borrow<py::object>(stator::capture_break_type());
  stator::bind_trace(module);
}
