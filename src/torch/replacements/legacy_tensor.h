// src/torch/replacements/legacy_tensor.h: torch.FloatTensor and its like, called or asked for with
// isinstance.
#pragma once

#include "capture/cpython/ref.h"

namespace stator {

// Called once, when the module is initialised: tracers are instances of the class of their dtype too.
void prepare_legacy_tensors();

// What captured code calls in place of a class of that kind, or torch.Tensor; null for anything else.
Ref<> makes_legacy_tensor(PyObject* callable);
bool is_legacy_tensor(PyObject* callable);

}  // namespace stator
