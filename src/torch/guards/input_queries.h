// src/torch/guards/input_queries.h: methods of tensors that ask for what a guard on metadata does not cover.
#pragma once

#include "capture/cpython/ref.h"

namespace stator {

// What captured code calls in place of such a method; null for anything else.
Ref<> queries_input(PyObject* callable);
bool is_input_query(PyObject* callable);

}  // namespace stator
