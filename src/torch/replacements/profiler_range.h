// src/torch/replacements/profiler_range.h: ranges that programs open for torch's profiler (record_function).
//
// A run does not open them: what it does is one range of its own. Captured code is given one handle for all
// of them, which is closed already. It may outlive the capture where that ends inside of the range: closing
// it once more does nothing.
#pragma once

#include <Python.h>

#include "capture/cpython/ref.h"

namespace stator {

// Called once, when the module is initialised.
void prepare_profiler_ranges();

// What is called in place of the operator that opens a range; null for other functions.
Ref<> opens_range(PyObject* callable);

// Whether this is what opens ranges in captures, and whether this is the handle that it gives.
bool is_range_opener(PyObject* callable);
bool is_closed_range(PyObject* object);

}  // namespace stator
