// src/torch/inference/substituted_arguments.h: tensors that stand for an operator's arguments while a kernel
// is run only to learn what the operator returns.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>

#include <functional>
#include <span>

#include "torch/inference/inference.h"

namespace stator {

struct SubstitutedArgument {
  at::Tensor original;
  at::Tensor copy;
  int16_t argument;
  int32_t element;
};

class SubstitutedArguments {
 public:
  // A tensor that stands for `original`; wrapped numbers stand for themselves, and the same tensor gets the
  // same stand-in.
  using Make = std::function<at::Tensor(const at::Tensor& original)>;
  // Whether a tensor that a kernel returned lies on the memory of a stand-in.
  using Shares = std::function<bool(const at::Tensor& result, const at::Tensor& copy)>;

  // The argument with its tensors replaced.
  c10::IValue replace(const c10::IValue& argument, size_t position, const Make& make);
  bool empty() const { return substituted_.empty(); }

  // Turns what the kernel left on the stack into an inference, arguments that it changed included.
  void describe(const OperatorInfo& info, const torch::jit::Stack& stack, const Shares& shares,
                Inference& result) const;

 private:
  OutputSpec describe(const at::Tensor& tensor, const Shares& shares) const;

  std::vector<SubstitutedArgument> substituted_;
};

}  // namespace stator
