// src/torch/tracing/capture_break.h: the C++ exception by which the torch layer says that an operation cannot
// be captured.
#pragma once

#include <torch/csrc/Exceptions.h>

#include <string>

#include "core/break.h"

namespace stator {

// Derives from torch's own exception type, so that torch's Python bindings turn it into the Python class
// below without knowing it. It never means that the user's program is wrong.
struct CaptureBreak : torch::PyTorchError {
  CaptureBreak(BreakCode code, std::string message) : PyTorchError(std::move(message)), code(code) {}
  PyObject* python_type() override;

  BreakCode code;
};

// stator._torch.CaptureBreak. A subclass of BaseException: the user's `except Exception` must not see it.
PyObject* capture_break_type();

// Notes the break in the running session (so that it holds even if something swallows the exception) and
// throws.
[[noreturn]] void raise_break(BreakCode code, std::string message);

}  // namespace stator
