// src/torch/domain/legacy_tensor.h: torch.FloatTensor and its like, called with a list or with sizes.
#pragma once

#include "capture/cpython/ref.h"

namespace stator {

// For a class of that kind, or torch.Tensor: what captured code calls in its place. Nothing: it is something
// else.
Ref<> makes_legacy_tensor(PyObject* callable);
bool is_legacy_tensor(PyObject* callable);

}  // namespace stator
