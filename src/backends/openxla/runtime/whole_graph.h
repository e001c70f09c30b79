// src/backends/openxla/runtime/whole_graph.h: a graph that one XLA program computes, as AOT autograd calls
// it.
#pragma once

#include <sys/types.h>

#include <memory>
#include <vector>

#include "backends/openxla/runtime/executable.h"
#include "backends/openxla/runtime/precision.h"

namespace stator::openxla {

// Where a result of the graph comes from.
struct GraphResult {
  enum class Kind : uint8_t { kMade, kInput, kConstant } kind;
  size_t index = 0;  // of the program's results, or of the graph's inputs
  Ref<> constant;
};

// Called with a list of the graph's inputs, which it empties: AOT autograd's boxed call. No Python code runs,
// unless XLA cannot be called (in a forked process) or would not raise where eager code does: `by_torch` then
// computes the program's results with torch's kernels.
class WholeGraph {
 public:
  WholeGraph(ByPrecision executables, std::vector<size_t> arguments, std::vector<at::Tensor> constants,
             std::vector<GraphResult> results, Ref<> by_torch);

  Ref<> call(PyObject* inputs);  // a list; throws py::error_already_set

 private:
  std::vector<at::Tensor> computed(PyObject* inputs);

  ByPrecision executables_;
  std::vector<size_t> arguments_;  // of the graph's inputs, those of the program; its constants follow them
  std::vector<at::Tensor> constants_;
  std::vector<GraphResult> results_;
  Ref<> by_torch_;
  pid_t process_;
};

}  // namespace stator::openxla
