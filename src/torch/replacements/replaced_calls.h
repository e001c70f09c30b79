// src/torch/replacements/replaced_calls.h: functions of torch's for which captured code calls another one.
#pragma once

#include <Python.h>

#include "capture/cpython/ref.h"
#include "capture/domain.h"

namespace stator {

// Called once, when the module is initialised.
void prepare_replaced_calls();

// What is called instead, with the same arguments; null for the function itself.
Ref<> called_in_place_of(PyObject* callable);

// What a function that is called instead may do; CallKind::unknown for other functions.
CallKind kind_of_replacement(PyObject* callable);

}  // namespace stator
