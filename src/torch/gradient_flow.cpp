// src/torch/gradient_flow.cpp: gradients through operators that are not composite.
#include "torch/gradient_flow.h"

#include <c10/core/GradMode.h>

#include "torch/capture_break.h"
#include "torch/tensors_in.h"

namespace stator {

void flow_gradients(const OperatorInfo& info, std::span<const c10::IValue> arguments, Inference& result) {
  bool any = false;
  for (const c10::IValue& argument : arguments) {
    for_each_tensor(argument,
                    [&](const at::Tensor& tensor) { any |= tensor.defined() && tensor.requires_grad(); });
  }
  any = any && c10::GradMode::is_enabled();
  const auto apply = [&](OutputSpec& spec) {
    if (spec.kind == OutputSpec::Kind::undefined) return;
    const bool differentiable = c10::isFloatingType(spec.meta.dtype) || c10::isComplexType(spec.meta.dtype);
    spec.requires_grad = any && differentiable;
    spec.leaf = false;
  };
  for (OutputSpec& spec : result.outputs) apply(spec);
  for (OutputSpec& spec : result.changed) apply(spec);
  (void)info;
}

}  // namespace stator
