// src/torch/replacements/checks.h: torch._check of numbers that are read off tensors
// (stator/runtime/checks.py).
#pragma once

#include <Python.h>

namespace stator {

// Called once, when the module is initialised.
void prepare_checks();

// The C functions that decide such a comparison, which ends the capture, and that record a check of it.
bool is_number_check(PyObject* callable);

}  // namespace stator
