// src/torch/tracing/gradient_query.cpp: whom a capture asks what gradients look like.
#include "torch/tracing/gradient_query.h"

#include <stdexcept>
#include <utility>

namespace stator {

static thread_local const GradientTracer* innermost = nullptr;

TracesGradients::TracesGradients(GradientTracer tracer)
    : tracer_(std::move(tracer)), outer_(std::exchange(innermost, &tracer_)) {}
TracesGradients::~TracesGradients() { innermost = outer_; }

std::vector<std::optional<TracedGradient>> traced_gradients(const GradientQuery& query) {
  if (innermost == nullptr) throw std::runtime_error("gradients are asked for outside of a function");
  return (*innermost)(query);
}

}  // namespace stator
