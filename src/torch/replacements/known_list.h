// src/torch/replacements/known_list.h: Tensor.tolist of a tensor whose contents are known at capture.
#pragma once

#include "capture/cpython/ref.h"

namespace stator {

// For torch's method: what captured code calls in its place. Nothing: it is something else.
Ref<> makes_known_list(PyObject* callable);
bool is_known_list(PyObject* callable);

}  // namespace stator
