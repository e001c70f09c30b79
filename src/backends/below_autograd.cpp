// src/backends/below_autograd.cpp: nodes whose operator ran below autograd when it was captured.
#include "backends/below_autograd.h"

#include "torch/operators/overridden_kernels.h"

namespace stator {

bool was_below_autograd(const ir::Graph& graph, const ir::Node& node, const OperatorInfo& info) {
  if (info.written != 0 || info.composite_implicit || !has_no_derivative(info.handle)) return false;
  for (ir::ValueId value : ir::Graph::outputs(node)) {
    const ir::Value& output = graph.value(value);
    if (output.requires_grad() || output.alias != ir::AliasKind::kFresh) return false;
  }
  return true;
}

}  // namespace stator
