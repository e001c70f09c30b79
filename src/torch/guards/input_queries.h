// src/torch/guards/input_queries.h: methods of tensors that ask for what a guard on metadata does not cover.
#pragma once

#include "capture/cpython/ref.h"

namespace stator {

// For such a method: what captured code calls in its place. Nothing: it is something else.
Ref<> queries_input(PyObject* callable);
bool is_input_query(PyObject* callable);

}  // namespace stator
