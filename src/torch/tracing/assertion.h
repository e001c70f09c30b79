// src/torch/tracing/assertion.h: `assert` statements of a tensor's truth.
#pragma once

#include <ATen/core/Tensor.h>

namespace stator {

class Session;

// The truth of the tensor is asked for. Where an assert statement asks, and a backend in Python gets the
// graph, a node that raises in each run if the tensor is false; the capture goes on behind the statement.
// False: somebody else asks, or handles the error.
bool record_assertion(Session& session, const at::Tensor& tensor);

}  // namespace stator
