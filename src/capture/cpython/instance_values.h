/* capture/cpython/instance_values.h: attributes of a new instance, put where CPython keeps them for as long
 * as nobody asks for its dictionary.
 *
 * Instances of a class share the names of their attributes and hold only the values. A name that the class
 * knows keeps its index, so a value is stored there without a lookup, as CPython's own specialised STORE_ATTR
 * does. */
#ifndef STATOR_CAPTURE_CPYTHON_INSTANCE_VALUES_H
#define STATOR_CAPTURE_CPYTHON_INSTANCE_VALUES_H

#include "capture/cpython/layout.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The index of an interned name in the instances of a class; -1 where they have none for it. */
Py_ssize_t stator_value_index(PyTypeObject* type, PyObject* name);

/* Sets an attribute that the object has not got yet. 0: it keeps its attributes elsewhere; nothing was done.
 */
int stator_store_value(PyObject* object, Py_ssize_t index, PyObject* value);

/* Whether it has no attributes of its own; asking makes no dictionary. */
int stator_has_no_attributes(PyObject* object);

#ifdef __cplusplus
}
#endif

#endif
