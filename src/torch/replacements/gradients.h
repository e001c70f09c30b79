// src/torch/replacements/gradients.h: torch.autograd.grad in captured code, as one node over the history that
// a run makes, like backward().
#pragma once

#include <Python.h>

#include <optional>
#include <vector>

#include "torch/tracing/session.h"

namespace stator {

// What a call of torch's engine asks for that gives gradients back.
struct GradientCall {
  std::vector<at::Tensor> roots;
  std::vector<at::Tensor> gradients;  // undefined for None
  std::vector<at::Tensor> inputs;
  bool keeps_graph = false;
  bool creates_graph = false;
  bool may_be_unused = false;
};

// Records it. The gradients, undefined where none comes. Raises a break where they are not known for sure, or
// where code of the program's would run in between.
std::vector<at::Tensor> record_gradients(Session& session, const GradientCall& call);

}  // namespace stator
