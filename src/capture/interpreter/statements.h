// capture/interpreter/statements.h: the out-of-line work of imports, `with` and the intrinsic functions.
#ifndef STATOR_CAPTURE_INTERPRETER_STATEMENTS_H
#define STATOR_CAPTURE_INTERPRETER_STATEMENTS_H

#include "capture/cpython/frame.h"

namespace stator {

// A new reference, or nullptr with an error set.
PyObject* import_name(cpython::Frame* frame, PyObject* name, PyObject* from_list, PyObject* level);
PyObject* import_from(PyThreadState* thread, PyObject* module, PyObject* name);
bool import_star(PyThreadState* thread, cpython::Frame* frame, PyObject* module);

// `with manager:`; new references to its bound exit and to what enter returned. False with an error set.
bool enter_context(PyObject* manager, PyObject** exit, PyObject** entered);

// CALL_INTRINSIC_1.
PyObject* call_intrinsic(PyThreadState* thread, cpython::Frame* frame, int which, PyObject* value);

// (first, *rest), for a bound method called with a tuple.
PyObject* prepend(PyObject* first, PyObject* rest);

}  // namespace stator

#endif
