// capture/interpreter/calls.h: binding a Python call's arguments into a frame, without running it.
#ifndef STATOR_CAPTURE_INTERPRETER_CALLS_H
#define STATOR_CAPTURE_INTERPRETER_CALLS_H

#include "capture/cpython/frame.h"

namespace stator {

// Whether calling `callable` means running its code in a new frame: a plain function that nobody gave another
// vectorcall.
bool is_python_function(PyObject* callable);
// The Python function that a call of this object runs, with the object as its first argument: `__call__` of
// its class. Borrowed; nullptr where a call does something else.
PyFunctionObject* called_method(PyObject* callable);

// Whether all parameters are plain positional ones.
bool only_positional(const PyCodeObject* code);

struct PushedCall {
  cpython::Frame* frame = nullptr;  // bound, not linked
  bool native = false;              // no frame could be pushed here: make the call through the C API
};

// Binds `count` positional arguments followed by the values of `keywords` (a tuple of names, or nullptr) to a
// new frame. Arguments are borrowed. No frame and not native: a Python error is set, in CPython's words.
PushedCall push_call(PyThreadState* thread, PyFunctionObject* function, PyObject* const* arguments,
                     Py_ssize_t count, PyObject* keywords);

// The same for a tuple and a dictionary (or nullptr) of arguments.
PushedCall push_call(PyThreadState* thread, PyFunctionObject* function, PyObject* arguments,
                     PyObject* keywords);

// Whether the generator or coroutine `receiver` can be resumed by pushing its frame.
bool is_resumed_here(PyThreadState* thread, PyObject* receiver);

}  // namespace stator

#endif
