// src/torch/symbols/symbol_calls.h: functions of Python's that would ask for a number, where a symbol will
// do.
#pragma once

#include "capture/cpython/ref.h"

namespace stator {

// What len of a tensor and functions of Python's math give for symbols, where that is a symbol or decided by
// a guard; null if the function is to be called, and asks for the number. An error may be set.
Ref<> symbol_from(PyObject* function, PyObject* const* arguments, Py_ssize_t count);

}  // namespace stator
