// src/torch/replacements/run_calls.h: functions of Python's that every run calls for real, in their places
// among the operators: print, writes to standard streams, records of logging, clocks, random numbers.
#pragma once

#include <Python.h>

#include "capture/cpython/ref.h"

namespace stator {

// Called once, when the module is initialised.
void prepare_run_calls();

// What is called in place of such a function; null for others, and if the backend has no such nodes.
Ref<> calls_in_run(PyObject* callable);
// The same for a bound method.
Ref<> draws_in_run(PyObject* method);

// Whether this is what writes or logs in captures, or what gives a number of the run.
bool is_output_in_run(PyObject* callable);
bool is_number_of_run(PyObject* callable);

// A function without arguments: of what kind the standard streams are (Domain::streams). Borrowed.
PyObject* stream_kinds();

}  // namespace stator
