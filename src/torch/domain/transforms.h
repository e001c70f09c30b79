// src/torch/domain/transforms.h: what transforms of torch.func (vmap, grad, vjp, jvp) need beside the
// dispatcher.
//
// A transform is a level that Python code of torch's opens and closes, and wrappers around tensors that
// belong to it. The Python code is captured as any other. Operators on wrappers go through the transforms to
// plain operators on tracers (dispatch_fallback.cpp), so a run knows of no transform. A capture that is given
// up leaves the levels with the rest of the thread's state, and a wrapper that is left over at the end is a
// break.
#pragma once

#include <Python.h>

namespace stator {

// Called once, when the module is initialised.
void prepare_transforms();

// A function is about to be called by captured code. Where torch registers kernels on the first use of vmap,
// that is done now, outside of the capture: it is done once in a process, and no part of the program.
void before_transform(PyObject* function);

// Whether it is code of a kernel that torch has written in Python: run with all that it calls, and not
// captured.
bool is_python_kernel(PyCodeObject* code);

}  // namespace stator
