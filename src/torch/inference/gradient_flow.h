// src/torch/inference/gradient_flow.h: which outputs of an operator require a gradient.
#pragma once

#include <span>

#include "torch/inference/inference.h"

namespace stator {

// Fills in requires_grad of outputs and changed arguments whose metadata is known already.
void flow_gradients(const OperatorInfo& info, std::span<const c10::IValue> arguments, Inference& result);

}  // namespace stator
