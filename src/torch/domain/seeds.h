// src/torch/domain/seeds.h: torch.manual_seed in captured code: a node that every run executes in its place
// among the operators. The capture itself draws no numbers, and leaves all generators alone.
#pragma once

#include <Python.h>

#include "capture/cpython/ref.h"

namespace stator {

// Called once, when the module is initialised.
void prepare_seeds();

// What is called in place of torch.manual_seed. Nothing: it is another function.
Ref<> records_seed(PyObject* function);
bool is_seed_call(PyObject* callable);

}  // namespace stator
