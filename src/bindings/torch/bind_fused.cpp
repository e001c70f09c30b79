// src/bindings/torch/bind_fused.cpp: plans a graph's text and writes its kernels.
#include "bindings/torch/bind_fused.h"

#include <pybind11/stl.h>

#include "backends/fused/kernel/cuda_text.h"
#include "backends/fused/kernel/llvm_text.h"
#include "backends/fused/plan/plan.h"
#include "backends/fused/rewrite/rewrite.h"
#include "core/ir/parse.h"
#include "torch/operators/operator_table.h"

namespace stator {
namespace {

// Of a kernel: its text, and of CUDA the threads and the rows or elements of a block.
py::list fused_kernels(const std::string& text, const std::string& language) {
  const auto graph = ir::parse(text, torch_operators());
  if (!graph) throw py::value_error("graph text " + graph.error().text());
  if (language != "cuda" && language != "llvm") throw py::value_error("language is 'cuda' or 'llvm'");
  py::list kernels;
  const auto written_in = language == "llvm" ? fused::Language::llvm : fused::Language::cuda;
  const ir::Graph rewritten = fused::rewritten(*graph, written_in);
  for (const fused::KernelPlan& plan :
       fused::make_plan(rewritten, written_in, fused::Rounding::stored).kernels) {
    if (language == "llvm") {
      kernels.append(fused::llvm_text(plan.kernel, "KERNEL"));
      continue;
    }
    const fused::CudaText made = fused::cuda_text(plan.kernel, "KERNEL");
    kernels.append(py::make_tuple(made.text, made.threads, made.per_block));
  }
  return kernels;
}

}  // namespace

void bind_fused(py::module_& module) {
  module.def("fused_kernels", &fused_kernels, py::arg("graph"), py::arg("language"),
             "The kernels that the backend `fused` makes of a graph's text.");
  module.def("fused_prelude", [](const std::string& language) {
    return language == "cuda" ? fused::cuda_prelude() : fused::llvm_prelude();
  });
}

}  // namespace stator
