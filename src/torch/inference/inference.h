// src/torch/inference/inference.h: works out what an operator returns without running it.
#pragma once

#include <ATen/core/ivalue.h>

#include <span>

#include "torch/inference/tensor_meta.h"
#include "torch/operators/operator_info.h"
#include "torch/tracing/session.h"

namespace stator {

// One value an operator returns: a tensor, a list of tensors, or something else that is known already.
struct ReturnSpec {
  enum class Kind : uint8_t { tensor, list, constant };
  Kind kind = Kind::tensor;
  uint32_t count = 1;  // tensors
  c10::IValue constant;
};

struct Inference {
  std::vector<OutputSpec> outputs;  // the tensors of all returns in order
  std::vector<ReturnSpec> returns;
  std::vector<OutputSpec>
      changed;  // written arguments that are no output and whose metadata or history changed
};

// Asks, in this order: the memo, the shape rule, torch's C++ meta kernel, the composite kernel, and last the
// dispatched meta kernel. Raises a break where none knows; an error from inference is never the user's.
// The reference is good until the next call.
const Inference& infer(Session& session, const OperatorInfo& info, std::span<const c10::IValue> arguments);

// Forgets what the memo knows: for tests and measurements.
void clear_memo();

}  // namespace stator
