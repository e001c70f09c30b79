// src/torch/replacements/seeds.h: torch.manual_seed, get_rng_state and set_rng_state in captured code: nodes
// that every run executes in their places among the operators. The capture itself draws no numbers, and
// leaves all generators alone.
#pragma once

#include <Python.h>

#include "capture/cpython/ref.h"

namespace stator {

// Called once, when the module is initialised.
void prepare_seeds();

// What is called in place of torch.manual_seed, and of get_state and set_state of a generator, bound or not;
// null for anything else.
Ref<> records_seed(PyObject* callable);
bool is_seed_call(PyObject* callable);

}  // namespace stator
