// src/torch/replacements/scripted.h: functions that torch.jit compiled from Python.
#pragma once

#include <Python.h>

namespace stator {

bool is_scripted(PyObject* callable);

// The attribute of a scripted function with the Python function that it was made of, where that does the
// same; nullptr: it has none.
const char* python_form(PyObject* callable);

}  // namespace stator
