// capture/interpreter/specialised.h: what CPython's specialised instructions do with less recursion than the
// C API.
//
// Once code is warm, CPython makes some calls without counting a level of recursion, and enters some Python
// functions (`__getitem__`, getters of properties, `__getattribute__`, `__init__`) without recursion in C. A
// program sees it in how deep it can go, so the interpreter does the same.
#ifndef STATOR_CAPTURE_INTERPRETER_SPECIALISED_H
#define STATOR_CAPTURE_INTERPRETER_SPECIALISED_H

#include "capture/cpython/frame.h"

namespace stator {

// Whether CALL with so many arguments in all (self among them) counts no level for `callable`, which the C
// API counts one for.
bool counts_no_level(PyObject* callable, Py_ssize_t count, PyObject* keywords);

// The Python function that a read of an item (of an object whose class is not static) or of an attribute
// enters, or nullptr. Borrowed.
PyFunctionObject* entered_by_subscript(PyObject* container);
PyFunctionObject* getter_entered_by(PyObject* owner, PyObject* name);
PyFunctionObject* getattribute_entered_by(PyObject* owner);

// The `__init__` that a call of a class with so many positional arguments enters, or nullptr. Borrowed.
PyFunctionObject* init_entered_by(PyObject* callable, Py_ssize_t count);
// The object that such a call makes, and the check of what `__init__` returned (stolen).
PyObject* make_empty(PyObject* callable);
bool is_result_of_init(PyObject* result);

// Functions that reads of attributes enter run on the native stack while there is little of it in use, since
// the C API tells an AttributeError of theirs which attribute was read, as CPython does in cold code. From
// this many evaluators on they are pushed as frames.
inline constexpr int kDeep = 16;

}  // namespace stator

#endif
