// capture/interpreter/operators.h: the operations on values that instructions name by number.
#ifndef STATOR_CAPTURE_INTERPRETER_OPERATORS_H
#define STATOR_CAPTURE_INTERPRETER_OPERATORS_H

#include "capture/bytecode/arguments.h"
#include "capture/bytecode/decode.h"

namespace stator {

template <class Number>
bool compare_numbers(int which, Number left, Number right) {
  switch (which) {
    case Py_LT:
      return left < right;
    case Py_LE:
      return left <= right;
    case Py_EQ:
      return left == right;
    case Py_NE:
      return left != right;
    case Py_GT:
      return left > right;
    default:
      return left >= right;
  }
}

// All return a new reference, or nullptr with an error set.
PyObject* binary_operation(int which, PyObject* left, PyObject* right);
PyObject* subscript(PyObject* container, PyObject* key);

PyObject* load_attribute(PyObject* owner, PyObject* name, InlineCache& cache);
// True: `method` is to be called with the owner as its first argument.
bool load_method(PyObject* owner, PyObject* name, InlineCache& cache, PyObject** method);
PyObject* load_super_attribute(PyObject* super, PyObject* type, PyObject* self, PyObject* name,
                               bool explicit_arguments);

// `left += right` or `left + right` of exact strings, in place where nothing else holds the left one. Steals
// left.
PyObject* append_string(PyObject* left, PyObject* right);

}  // namespace stator

#endif
