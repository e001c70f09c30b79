// src/torch/inference/composite_inference.h: learns what an operator returns by running its composite kernel
// on tracers.
#pragma once

#include <span>

#include "torch/inference/inference.h"

namespace stator {

// The kernel for the highest of `keys` runs on copies of the arguments; its own operators come back to the
// dispatcher fallback, which infers but does not record. Histories of the results are part of the answer.
void rerun_composite(Session& session, const OperatorInfo& info, c10::DispatchKeySet keys,
                     std::span<const c10::IValue> arguments, Inference& result);

// Where a CompositeImplicitAutograd kernel is found, and where a CompositeExplicitAutograd one.
c10::DispatchKeySet composite_keys(std::span<const c10::IValue> arguments);
c10::DispatchKeySet backend_keys(std::span<const c10::IValue> arguments);

// The device an operator works on: that of its first tensor which is no CPU scalar, else its device argument.
c10::Device common_device(std::span<const c10::IValue> arguments);

}  // namespace stator
