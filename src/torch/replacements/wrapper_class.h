// src/torch/replacements/wrapper_class.h: a call of a class with a `__torch_dispatch__`, which makes a tensor
// of others.
#pragma once

#include "capture/cpython/ref.h"

namespace stator {

// What captured code calls in place of such a class; null for anything else.
Ref<> makes_wrapper_tensor(PyObject* callable);
bool is_wrapper_maker(PyObject* callable);

}  // namespace stator
