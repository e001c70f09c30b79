// src/torch/replacements/gradient_level.h: a level of torch.func's grad around the tracers of a session.
//
// Inside of a level torch's autograd records a history of wrappers; operators leave the level, those of the
// engine too, as plain ones on tracers, and arrive at the dispatcher fallback.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/utils/pybind.h>

#include <optional>

#include "torch/tracing/session.h"

namespace stator {

// The session, and the level in it, are open while this lives. Nothing is recorded outside of the level.
class GradientLevel {
 public:
  explicit GradientLevel(Session& session);
  ~GradientLevel();
  GradientLevel(const GradientLevel&) = delete;
  GradientLevel& operator=(const GradientLevel&) = delete;

  at::Tensor wrap(const at::Tensor& tracer) const { return call(wrap_, tracer); }
  at::Tensor unwrap(const at::Tensor& tensor) const { return call(unwrap_, tensor); }
  void leave_level();

 private:
  at::Tensor call(const py::object& function, const at::Tensor& tensor) const;

  Session& session_;
  c10::AutoGradMode no_gradients_;
  std::optional<c10::AutoGradMode> gradients_;
  py::object wrap_, unwrap_, leave_;
  int64_t number_ = 0;
};

}  // namespace stator
