// capture/interpreter/gadget.h: single instructions executed by CPython on values of ours.
//
// A gadget is a Python function whose code is one instruction between loads and a return. Its frame never
// becomes "complete", so tracebacks, signal handlers and sys._getframe pass over it. It serves where the
// evaluator's own C code is not exported: the rare opcodes, and the handling of signals, pending calls, the
// GIL and the collector.
#ifndef STATOR_CAPTURE_INTERPRETER_GADGET_H
#define STATOR_CAPTURE_INTERPRETER_GADGET_H

#include "capture/bytecode/opcode.h"
#include "capture/cpython/frame.h"

namespace stator {

// Called once, before anything is interpreted. False with an error set.
bool make_gadgets();

// Executes `opcode` with `argument` on `count` values (borrowed). Returns the value it leaves, or a tuple
// where it leaves several; nullptr with the error that the instruction raised. Some instructions ask which
// module they run in: that of `function`, where one is given.
PyObject* execute_in_cpython(PyThreadState* thread, Opcode opcode, int argument, PyObject* const* values,
                             int count, int results = 1, PyObject* function = nullptr);

// The same for an instruction whose argument is a name: it leaves one value above `value`.
PyObject* execute_with_name(PyThreadState* thread, Opcode opcode, PyObject* name, PyObject* value);

// `from module import *` into the frame's locals.
bool execute_import_star(PyThreadState* thread, cpython::Frame* frame, PyObject* module);

// As CPython does at RESUME and on backward jumps when the eval breaker is set. False: an error was raised.
bool give_attention(PyThreadState* thread);

}  // namespace stator

#endif
