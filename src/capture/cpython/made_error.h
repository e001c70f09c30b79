// src/capture/cpython/made_error.h: exceptions that C code has made and raised.
#ifndef STATOR_CAPTURE_CPYTHON_MADE_ERROR_H
#define STATOR_CAPTURE_CPYTHON_MADE_ERROR_H

#include "capture/cpython/error_scope.h"

namespace stator {

// Whether C code alone makes its instances (`raise Error` of a class without __init__ and __new__ of its
// own).
inline bool is_made_by_c(const PyTypeObject* type) {
  const PyTypeObject* builtin = type;
  while (builtin->tp_flags & Py_TPFLAGS_HEAPTYPE) builtin = builtin->tp_base;
  return type->tp_new == builtin->tp_new && type->tp_init == builtin->tp_init &&
         Py_IS_TYPE(type, &PyType_Type);
}

// As builtin_error(), of the program's classes too.
inline PyObject* made_error() {
  PyObject* type = PyErr_Occurred();
  if (type == nullptr || !is_made_by_c(reinterpret_cast<PyTypeObject*>(type))) return nullptr;
  if (!(reinterpret_cast<PyTypeObject*>(type)->tp_flags & Py_TPFLAGS_HEAPTYPE)) return builtin_error();
  PyObject* error = take_error().release();
#if PY_VERSION_HEX < 0x030C0000
  PyErr_Restore(Py_NewRef(Py_TYPE(error)), error, PyException_GetTraceback(error));
#else
  PyErr_SetRaisedException(error);
#endif
  return error;
}

}  // namespace stator

#endif
