// src/torch/domain/asked_views.h: Tensor._is_view in captured code.
#pragma once

#include "capture/cpython/ref.h"

namespace stator {

// For torch's method: what captured code calls in its place. Nothing: it is something else.
Ref<> asks_for_view(PyObject* callable);
bool is_asking_for_view(PyObject* callable);

}  // namespace stator
