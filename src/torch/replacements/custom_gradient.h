// src/torch/replacements/custom_gradient.h: torch.autograd.Function.apply under autograd, as one node of the
// graph.
#pragma once

#include <torch/csrc/utils/pybind.h>

#include <string>

#include "capture/cpython/ref.h"
#include "torch/tracing/session.h"

namespace stator {

// Calls `apply` on the tracers, unrecorded, to learn what comes out of it, and records a node that makes the
// same call in every run. Returns null if that cannot be: an error is set, or `why` gives the reason.
Ref<> record_custom_gradient(Session& session, PyObject* apply, PyObject* arguments, std::string& why);

// "setup_context" where the class has one, which is then given the context instead of forward.
const char* context_taker(PyObject* function_class);

}  // namespace stator
