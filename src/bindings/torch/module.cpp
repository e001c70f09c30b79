// src/bindings/torch/module.cpp: the extension module stator._torch.
#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include "backends/choose.h"
#include "backends/cuda_graphs/recorded_ranges.h"
#include "backends/cuda_graphs/recorder.h"
#include "backends/native/gradient_trace.h"
#include "bindings/torch/bind_fused.h"
#include "bindings/torch/bind_openxla.h"
#include "bindings/torch/bind_trace.h"
#include "torch/domain/arrays.h"
#include "torch/domain/compiling_flag.h"
#include "torch/domain/torch_domain.h"
#include "torch/tracing/capture_break.h"
#include "torch/tracing/dispatch_fallback.h"
#include "torch/tracing/undefined_gradients.h"

PYBIND11_MODULE(_torch, module) {
  module.doc() = "Stator's torch layer: tracers, shape rules and native replay.";
  stator::install_dispatch_fallback();
  module.attr("CaptureBreak") = py::reinterpret_borrow<py::object>(stator::capture_break_type());
  stator::bind_trace(module);
  stator::bind_openxla(module);
  stator::bind_fused(module);
  module.def("tell_programs", &stator::tell_programs, py::arg("setting"),
             "What programs are told that ask whether they are compiled: True, False or \"auto\".");
  module.def("never_tell", &stator::never_tell, py::arg("codes"),
             "Functions that are told what eager code is told.");
  module.def("cuda_graph_replays", &stator::cuda_graphs::RecordedRanges::replay_count,
             "Recordings launched since the process began.");
  module.def("emulate_cuda_graphs", &stator::cuda_graphs::emulate_on_cpu, py::arg("on"),
             "For tests without CUDA: programs made from now on treat CPU tensors as if they recorded them.");
  module.def("trace_arrays", &stator::trace_arrays, py::arg("on"), "Whether captures follow NumPy's arrays.");
  module.def(
      "follow_arrays",
      [](const py::object& numpy, const py::object& layer, const py::object& layer_dtype,
         const py::dict& dtypes, const py::object& from_array, const py::object& to_array,
         const py::object& to_result) {
        stator::follow_arrays(numpy.ptr(), layer.ptr(), layer_dtype.ptr(), dtypes.ptr(), from_array.ptr(),
                              to_array.ptr(), to_result.ptr());
      },
      "Captures compute with arrays of the module `numpy` by those of torch's class `layer`.");
  module.def(
      "watch_gradients", [](const py::object& context) { return stator::watch_gradients(context.ptr()); },
      "In the forward of a torch.autograd.Function: its backward may ask which gradients are undefined.");
  module.def(
      "undefined_gradients",
      [](const py::object& context) { return stator::undefined_gradients(context.ptr()); },
      "In that backward: their places. Zeros stand there.");
  py::module_::import("stator._capture");
  if (!stator::install_torch_domain(&stator::make_program, &stator::native::trace_gradients))
    throw py::error_already_set();
}
