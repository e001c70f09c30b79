// src/torch/replacements/compiled_autograd.h: nodes of a backward that torch's compiled autograd has
// captured.
#pragma once

#include <Python.h>

namespace stator {

// The C++ functions behind torch._dynamo.compiled_autograd.ops: each computes gradients by operators.
bool is_autograd_operation(PyObject* callable);

}  // namespace stator
