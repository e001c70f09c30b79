// src/torch/replacements/legacy_tensor.h: torch.FloatTensor and its like, called or asked for with
// isinstance.
#pragma once

#include "capture/cpython/ref.h"

namespace stator {

// Called once, when the module is initialised: tracers are instances of the class of their dtype too.
void prepare_legacy_tensors();

// For a class of that kind, or torch.Tensor: what captured code calls in its place. Nothing: it is something
// else.
Ref<> makes_legacy_tensor(PyObject* callable);
bool is_legacy_tensor(PyObject* callable);

}  // namespace stator
