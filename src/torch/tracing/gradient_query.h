// src/torch/tracing/gradient_query.h: what the gradients that a program asks for will look like.
//
// torch's kernels for gradients decide in a run which strides those have, and the history decides which there
// are. A capture learns both by running the graph so far once on tracers with a history. What does that runs
// programs, so a layer above says how.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "core/ir/graph.h"
#include "torch/inference/tensor_meta.h"

namespace stator {

// Values of the graph so far.
struct GradientQuery {
  std::vector<ir::ValueId> roots;
  std::vector<ir::ValueId> gradients;  // one for each root
  std::vector<ir::ValueId> inputs;     // whose gradients are asked for
  bool creates_graph = false;
};

struct TracedGradient {
  TensorMeta meta;  // sizes and strides are those of this capture's call
  bool requires_grad = false;
  bool is_shared = false;  // it lies in memory that something else of the graph has
};

// For each input what comes there, or nothing. Throws std::exception where it cannot be learnt.
using GradientTracer = std::function<std::vector<std::optional<TracedGradient>>(const GradientQuery& query)>;

// What captures of this thread ask while this lives; the innermost one is asked.
class TracesGradients {
 public:
  explicit TracesGradients(GradientTracer tracer);
  ~TracesGradients();
  TracesGradients(const TracesGradients&) = delete;
  TracesGradients& operator=(const TracesGradients&) = delete;

 private:
  GradientTracer tracer_;
  const GradientTracer* outer_;
};
// Throws too where nobody can be asked.
std::vector<std::optional<TracedGradient>> traced_gradients(const GradientQuery& query);

}  // namespace stator
