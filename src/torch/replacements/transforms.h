// src/torch/replacements/transforms.h: what transforms of torch.func (vmap, grad, vjp, jvp) need beside the
// dispatcher.
//
// A transform is a level that Python code of torch's opens and closes, and wrappers around tensors that
// belong to it. The Python code is captured as any other. Inside of a level torch switches our key off, as
// all others; what its transforms make of an operator arrives at the fallback when it has left the last one:
// plain operators on tracers, with the random numbers and the history that eager code has there. So a run
// knows of no transform. A capture that is given up leaves the levels with the rest of the thread's state,
// and a wrapper that is left over at the end is a break.
//
// Gradients of a transform are asked of torch's engine while the capture goes on: its history is made of
// wrappers, and holds no more than what the capture itself did. The history of tensors outside of transforms
// is not there before a run, so asking for those gradients is a break.
#pragma once

#include <Python.h>

#include "capture/cpython/ref.h"

namespace stator {

// Called once, when the module is initialised.
void prepare_transforms();

// A function is about to be called by captured code. Where torch registers kernels on the first use of vmap,
// that is done now, outside of the capture: it is done once in a process, and no part of the program. An
// operator that takes functions (associative_scan) is a break: a program calls it where it is told that it is
// compiled, and torch's own form of it rounds otherwise than what the program does natively.
void before_function(PyObject* function);

// What is called in place of the functions with which torch asks its engine; null for other functions.
Ref<> asks_engine(PyObject* function);
bool is_engine_call(PyObject* callable);

// What is called in place of the operator that torch.autograd.Function.apply becomes inside of a level: where
// nobody asks for a gradient and the class leaves its rule for vmap to torch, that is its forward. Nothing:
// it is another one.
Ref<> calls_custom_function(PyObject* callable);

// Where a capture was given up because torch had not started its engine yet, that is done. False: it was for
// another reason.
bool start_engine();

// Whether a level is open.
bool is_in_transform();

// Whether it is code of a kernel that torch has written in Python: run with all that it calls, and not
// captured.
bool is_python_kernel(PyCodeObject* code);

// The level of forward gradients that jvp opens. It is one for the process: a capture that is given up closes
// it.
class DualLevel {
 public:
  DualLevel() : was_open_(is_open()) {}
  static bool is_open();
  void restore() const;

 private:
  bool was_open_;
};

}  // namespace stator
