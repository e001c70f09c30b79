// src/torch/tracing/last_read.h: the operator at the end of a segment whose result only a run has.
//
// A capture that breaks at such an operator may end behind it: its results are outputs of the graph, and
// nothing of the program looks at them before the segment is over.
#pragma once

#include <span>

#include "capture/domain.h"
#include "torch/operators/operator_info.h"
#include "torch/tracing/session.h"

namespace stator {

// Records the operator as the last one of the graph: the stack receives what stands for its results. False:
// it cannot be the last one. Precondition: session.takes_last_read.
bool record_last_read(Session& session, const OperatorInfo& info, torch::jit::Stack* stack);

// What stands for the number of a tensor, or for its truth; null if torch would not ask the tensor alone.
Ref<> record_last_read(Session& session, PyObject* tensor, DomainCapture::LastRead what);

}  // namespace stator
