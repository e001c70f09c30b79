// src/torch/inference/meta_run.h: learns what an operator returns by running a meta kernel on storage-less
// twins.
#pragma once

#include <span>

#include "torch/inference/inference.h"

namespace stator {

// An argument for code that wants numbers: symbols are fixed to what they are in this capture.
c10::IValue without_symbols(const c10::IValue& argument);

// Calls torch's own C++ meta kernel directly. Precondition: info.meta_kernel. Histories are not part of it.
void run_hidden_meta(const OperatorInfo& info, std::span<const c10::IValue> arguments, Inference& result);

// Calls the operator on meta tensors through the dispatcher, autograd included; most of these run Python
// code.
void run_dispatched_meta(const OperatorInfo& info, std::span<const c10::IValue> arguments, Inference& result);

}  // namespace stator
