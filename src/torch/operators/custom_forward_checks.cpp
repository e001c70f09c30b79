// src/torch/operators/custom_forward_checks.cpp: what an operator may do in a forward that every run makes by
// itself.
#include "torch/operators/custom_forward_checks.h"

#include "core/ir/effects.h"
#include "torch/operators/tensors_in.h"
#include "torch/tracing/capture_break.h"
#include "torch/tracing/tracer.h"

namespace stator {

FollowedTraces& followed_traces() {
  thread_local FollowedTraces traces;
  return traces;
}

void check_followed(Session& session, const OperatorInfo& info, std::span<const c10::IValue> arguments,
                    const Inference& inference) {
  followed_traces().draws |= info.random;
  for (const c10::IValue& argument : arguments) followed_traces().draws_from_given |= argument.isGenerator();
  uint64_t written = info.written | ir::hidden_writes_of(info.name);
  for (const OutputSpec& spec : inference.changed) written |= uint64_t{1} << spec.argument;
  for (size_t i = 0; i < arguments.size(); ++i) {
    for_each_tensor(arguments[i], [&](const at::Tensor& tensor) {
      if (!tensor.defined() || tensor.unsafeGetTensorImpl()->is_wrapped_number()) return;
      const Tracer* tracer = as_tracer(tensor);
      if (tracer == nullptr) session.value_of(tensor);
      const bool is_older = tracer == nullptr || tracer->identity().memory < session.followed_memory;
      if (is_older && (written >> i & 1) != 0)
        raise_break(BreakCode::kAutogradFunction,
                    info.name + ": a forward writes to a tensor that was there before");
    });
  }
}

}  // namespace stator
