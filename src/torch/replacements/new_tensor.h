// src/torch/replacements/new_tensor.h: Tensor.new_tensor of a tracer, and the older Tensor.new.
//
// torch takes the device of the new tensor from the dispatch key of the old one, which a tracer has another
// of.
#pragma once

#include <Python.h>

#include "capture/cpython/ref.h"

namespace stator {

// What is to be called in place of them, bound or not; null if `callable` is another function.
Ref<> makes_new_tensor(PyObject* callable);
bool is_new_tensor(PyObject* callable);

}  // namespace stator
