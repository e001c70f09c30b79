// capture/recording/substitutes.h: Python functions that are captured in place of others, as the user said.
#ifndef STATOR_CAPTURE_RECORDING_SUBSTITUTES_H
#define STATOR_CAPTURE_RECORDING_SUBSTITUTES_H

#include "capture/cpython/python.h"

namespace stator {

// From now on captures call `function` where the program calls `original`, usually a C function of which they
// know nothing. Both live as long as the process.
void substitute(PyObject* original, PyObject* function);
// The same for calls of which an argument, or an item of a list or tuple among them, is exactly of this
// class.
void substitute_for(PyObject* original, PyObject* type, PyObject* function);
// Takes both back.
void forget_substitute(PyObject* original);
// Borrowed; nullptr: there is none.
PyObject* substitute_of(PyObject* callable);
PyObject* substitute_of_call(PyObject* callable, PyObject* const* arguments, Py_ssize_t count);

// Whether a frame of this code runs in place of another function.
bool is_substitute(const PyCodeObject* code);

}  // namespace stator

#endif
