// src/torch/inference/gradient_flow.cpp: gradients through operators that are not composite.
#include "torch/inference/gradient_flow.h"

#include <c10/core/GradMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "torch/operators/tensors_in.h"
#include "torch/tracing/capture_break.h"

namespace stator {

void flow_gradients(const OperatorInfo& info, std::span<const c10::IValue> arguments, Inference& result) {
  bool any = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!(info.differentiable >> i & 1)) continue;
    for_each_tensor(arguments[i],
                    [&](const at::Tensor& tensor) { any |= tensor.defined() && tensor.requires_grad(); });
  }
  // Python's factory functions call torch below autograd.
  const bool below =
      c10::impl::tls_local_dispatch_key_set().excluded_.has(c10::DispatchKey::AutogradFunctionality);
  any = any && c10::GradMode::is_enabled() && !below;
  const auto apply = [&](OutputSpec& spec, bool flows) {
    if (spec.kind == OutputSpec::Kind::undefined) return;
    const bool differentiable = c10::isFloatingType(spec.meta.dtype) || c10::isComplexType(spec.meta.dtype);
    spec.requires_grad = any && flows && differentiable && !info.detaches;
    spec.leaf = false;
    if (spec.kind != OutputSpec::Kind::same) return;
    // The tensor itself: it keeps what it has, and gains a history only by being written.
    const at::Tensor tensor = tensor_at(arguments[spec.argument], spec.element);
    const bool written = (info.written >> spec.argument & 1) != 0;
    if (!written) spec.requires_grad = tensor.requires_grad();
    if (written && !info.detaches) spec.requires_grad = spec.requires_grad || tensor.requires_grad();
    spec.leaf = spec.requires_grad && tensor.is_leaf();
  };
  size_t next = 0;
  for (size_t i = 0; i < result.returns.size(); ++i) {
    const bool flows = (info.differentiable_outputs >> std::min<size_t>(i, 63) & 1) != 0;
    for (uint32_t j = 0; j < result.returns[i].count; ++j) apply(result.outputs[next++], flows);
  }
  for (OutputSpec& spec : result.changed) apply(spec, true);
}

}  // namespace stator
