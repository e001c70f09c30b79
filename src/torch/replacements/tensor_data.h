// src/torch/replacements/tensor_data.h: torch.tensor and its kin, given tensors inside of sequences.
//
// torch copies the values of such tensors past the dispatcher: the graph does not see them, and no guard
// looks at values. So the capture ends there.
#pragma once

#include <Python.h>

#include "capture/cpython/ref.h"

namespace stator {

// Whether sequences in `data` hold a tensor with values of its own; then the capture is broken and an error
// is set. Tracers have none: torch itself comes upon that.
bool has_unseen_tensors(PyObject* data);

// What is to be called in place of a constructor that takes data; null if `callable` is another function.
Ref<> makes_from_data(PyObject* callable);
bool is_data_constructor(PyObject* callable);

}  // namespace stator
