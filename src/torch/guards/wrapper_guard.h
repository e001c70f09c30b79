// src/torch/guards/wrapper_guard.h: what a capture relied on of a tensor whose class has a
// `__torch_dispatch__`.
#pragma once

#include <memory>

#include "capture/domain.h"

namespace stator {

// nullptr for one that does not say what it is made of.
std::unique_ptr<TensorGuard> make_wrapper_guard(PyObject* tensor);

}  // namespace stator
