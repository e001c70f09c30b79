// src/torch/replacements/known_list.h: Tensor.tolist of a tensor whose contents are known at capture.
#pragma once

#include "capture/cpython/ref.h"

namespace stator {

// What captured code calls in place of torch's method; null for anything else.
Ref<> makes_known_list(PyObject* callable);
bool is_known_list(PyObject* callable);

}  // namespace stator
