// src/torch/replacements/checkpoint_region.h: torch.utils.checkpoint without re-entrance: the code is
// captured like any other, and two nodes say that backward is to compute its values once more.
#pragma once

#include <Python.h>

#include "capture/cpython/ref.h"

namespace stator {

// Called once, when the module is initialised.
void prepare_checkpoint_regions();

// What is to be called in place of torch's own generator, which keeps the state of a region. Nothing:
// `callable` is another function.
Ref<> makes_region(PyObject* callable);

// The C functions by which a region begins and ends.
bool marks_region(PyObject* callable);

}  // namespace stator
