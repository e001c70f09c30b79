// capture/interpreter/errors.h: the errors that the evaluator itself raises, in CPython's words.
#ifndef STATOR_CAPTURE_INTERPRETER_ERRORS_H
#define STATOR_CAPTURE_INTERPRETER_ERRORS_H

#include "capture/cpython/frame.h"

namespace stator {

void raise_name_error(PyObject* name);
void raise_unbound_local(PyCodeObject* code, int index);
// For a cell or free variable, by its index among the fast locals.
void raise_unbound_cell(PyCodeObject* code, int index);

// Adds the running frame to the current error's traceback, as CPython does where an error passes a frame.
void add_traceback(PyThreadState* thread, cpython::Frame* frame);

// `raise exception from cause`; both are stolen and may be nullptr. True: a bare raise that found an
// exception to raise again.
bool raise(PyThreadState* thread, PyObject* exception, PyObject* cause);

// Whether `type` may stand in an except clause; raises TypeError.
bool check_except_type(PyObject* type);

}  // namespace stator

#endif
