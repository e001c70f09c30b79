// src/torch/domain/callables.h: what torch's C functions may do.
#pragma once

#include "capture/domain.h"

namespace stator {

CallPolicy classify_torch_callable(PyObject* callable);

// Attributes of a tensor that its metadata answers, or that are operators.
bool is_captured_attribute(PyObject* name);

}  // namespace stator
