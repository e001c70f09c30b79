// src/torch/inference/substituted_arguments.cpp: arguments replaced before a kernel runs, results described
// afterwards.
#include "torch/inference/substituted_arguments.h"

#include "torch/operators/tensors_in.h"
#include "torch/tracing/capture_break.h"
#include "torch/tracing/tracer.h"

namespace stator {

c10::IValue SubstitutedArguments::replace(const c10::IValue& argument, size_t position, const Make& make) {
  int32_t element = 0;
  return map_tensors(argument, [&](const at::Tensor& tensor) -> at::Tensor {
    const int32_t own = element++;
    if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) return tensor;
    for (const SubstitutedArgument& known : substituted_) {
      if (known.original.is_same(tensor)) return known.copy;
    }
    at::Tensor copy = make(tensor);
    substituted_.push_back({tensor, copy, static_cast<int16_t>(position), own});
    return copy;
  });
}

OutputSpec SubstitutedArguments::describe(const at::Tensor& tensor, const Shares& shares) const {
  OutputSpec spec;
  if (!tensor.defined()) {
    spec.kind = OutputSpec::Kind::undefined;
    return spec;
  }
  if (tensor.layout() != c10::kStrided)
    raise_break(BreakCode::kTensorLayout, "an operator returns a tensor that is not strided");
  spec.meta = meta_of(tensor);
  spec.requires_grad = tensor.requires_grad();
  spec.leaf = tensor.is_leaf();
  for (const SubstitutedArgument& known : substituted_) {
    const bool same = known.copy.is_same(tensor);
    if (same || shares(tensor, known.copy)) {
      spec.kind = same ? OutputSpec::Kind::same : OutputSpec::Kind::view;
      spec.argument = known.argument;
      spec.element = known.element;
      spec.meta.device = known.original.device();
      return spec;
    }
  }
  return spec;
}

void SubstitutedArguments::describe(const OperatorInfo& info, const torch::jit::Stack& stack,
                                    const Shares& shares, Inference& result) const {
  for (const c10::IValue& value : stack) {
    ReturnSpec spec;
    const size_t before = result.outputs.size();
    if (value.isTensor() || value.isTensorList() || is_optional_tensor_list(value)) {
      for_each_tensor(value, [&](const at::Tensor& t) { result.outputs.push_back(describe(t, shares)); });
      spec.kind = value.isTensor() ? ReturnSpec::Kind::tensor : ReturnSpec::Kind::list;
      spec.count = static_cast<uint32_t>(result.outputs.size() - before);
    } else {
      spec.kind = ReturnSpec::Kind::constant;
      spec.count = 0;
      spec.constant = value;
    }
    result.returns.push_back(std::move(spec));
  }
  for (const SubstitutedArgument& known : substituted_) {
    if (!(info.written >> known.argument & 1)) continue;
    OutputSpec spec = describe(known.copy, shares);
    bool is_output = false;
    for (const OutputSpec& output : result.outputs) {
      is_output |= output.kind == OutputSpec::Kind::same && output.argument == spec.argument &&
                   output.element == spec.element;
    }
    if (!is_output) result.changed.push_back(std::move(spec));
  }
}

}  // namespace stator
