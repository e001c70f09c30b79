// capture/interpreter/builders.h: containers and strings made from values on the stack, and iterables taken
// apart onto it.
#ifndef STATOR_CAPTURE_INTERPRETER_BUILDERS_H
#define STATOR_CAPTURE_INTERPRETER_BUILDERS_H

#include "capture/cpython/frame.h"

namespace stator {

// Values are borrowed. A new reference, or nullptr with an error set.
PyObject* build_set(PyObject* const* values, int count);
PyObject* build_map(PyObject* const* keys_and_values, int count);
PyObject* build_const_key_map(PyObject* const* values, PyObject* keys, int count);
PyObject* join_strings(PyObject* const* parts, int count);
// Conversions: 0 none, 1 str, 2 repr, 3 ascii.
PyObject* convert_value(PyObject* value, int conversion);
PyObject* format_value(PyObject* value, int conversion, PyObject* spec);

// False with an error set.
bool extend_list(PyObject* list, PyObject* iterable);
bool update_dict(PyObject* dict, PyObject* update);
// `f(**update)`: duplicate keys and wrong types are errors that name the function.
bool merge_keywords(PyObject* dict, PyObject* update, PyObject* function);
bool check_star_arguments(PyObject* function, PyObject* arguments);
// The function that DICT_MERGE with this argument prepares a call of.
PyObject* callee_of_merge(PyObject** sp, int argument);

// Writes the items of `iterable` downwards from `top` (exclusive), as UNPACK_SEQUENCE (after == -1) and
// UNPACK_EX lay them out.
bool unpack_iterable(PyObject* iterable, int before, int after, PyObject** top);

}  // namespace stator

#endif
