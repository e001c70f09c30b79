// src/torch/inference/eager_error_probe.h: operators that refuse their arguments for what those are, whatever
// they hold.
#pragma once

#include <exception>
#include <span>

#include "torch/operators/operator_info.h"
#include "torch/tracing/session.h"

namespace stator {

// Carries what eager code raises past the handlers of the torch layer, to torch's bindings and so to the
// program.
struct OperatorRefused {
  std::exception_ptr error;
};

// Called where shapes could not be worked out. Runs the operator on tensors of the same shape, dtype and
// device, twice, on different contents: where it raises the same error both times, so does eager code in
// every call that passes the guards, and OperatorRefused is thrown. Returns where that is not sure: the
// capture ends.
void refuse_as_eager(Session& session, const OperatorInfo& info, std::span<const c10::IValue> arguments);

}  // namespace stator
