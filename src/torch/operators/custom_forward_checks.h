// src/torch/operators/custom_forward_checks.h: what an operator may do in a forward that every run makes by
// itself.
#pragma once

#include "torch/inference/inference.h"
#include "torch/tracing/session.h"

namespace stator {

// What operators of the forward that is being followed do beside computing.
struct FollowedTraces {
  bool draws = false;             // from torch's own generators
  bool draws_from_given = false;  // from a generator of the program's
};
FollowedTraces& followed_traces();

// Breaks where it writes to a tensor that was not made in that forward. Real tensors among its arguments
// become inputs of the graph, so that what they are is guarded.
void check_followed(Session& session, const OperatorInfo& info, std::span<const c10::IValue> arguments,
                    const Inference& inference);

}  // namespace stator
