// src/backends/native/gradient_trace.h: the graph of a capture that is under way, run on tracers with a
// history, to learn what gradients look like.
#pragma once

#include <optional>
#include <vector>

#include "torch/tracing/gradient_query.h"
#include "torch/tracing/session.h"

namespace stator::native {

// Precondition: the session is paused, the thread's modes are those of its caller, the GIL is held.
std::vector<std::optional<TracedGradient>> trace_gradients(Session& session, const GradientQuery& query);

}  // namespace stator::native
