// src/torch/replacements/hooks.h: which tensors captured code may register a hook with.
//
// Hooks are code of the program's that backward runs, after the captured call. So each run registers them
// when its graph has run, on the tensors that it got or made (stator/runtime/hooks.py).
#pragma once

#include <Python.h>

#include "capture/cpython/ref.h"

namespace stator {

class Session;

// Called once, when the module is initialised.
void prepare_hooks();

// In place of stator.runtime.hooks.check_tensor: ends the capture where the hook cannot be registered later.
Ref<> checks_hooked(PyObject* callable);
bool is_hook_check(PyObject* callable);

// Whether the capture has registered hooks, which no node of its graph may call.
bool has_late_hooks(const Session& session);
// Ends the capture where a tensor that a hook was registered with is written to afterwards: the hook belongs
// to the tensor's history as it was.
void check_late_hooks(Session& session);

}  // namespace stator
