// capture/cpython/error_scope.h: the thread's Python error, set aside for a while.
#ifndef STATOR_CAPTURE_CPYTHON_ERROR_SCOPE_H
#define STATOR_CAPTURE_CPYTHON_ERROR_SCOPE_H

#include "capture/cpython/interrupts.h"
#include "capture/cpython/ref.h"

namespace stator {

// Saves the current error, if any, and restores it as it was (not normalised) at the end of the scope. What
// was raised in between is dropped.
class ErrorScope {
 public:
#if PY_VERSION_HEX < 0x030C0000
  ErrorScope() { PyErr_Fetch(&type_, &value_, &traceback_); }
  ~ErrorScope() {
    drop_error();
    PyErr_Restore(type_, value_, traceback_);
  }
#else
  ErrorScope() : value_(PyErr_GetRaisedException()) {}
  ~ErrorScope() {
    drop_error();
    PyErr_SetRaisedException(value_);
  }
#endif
  ErrorScope(const ErrorScope&) = delete;
  ErrorScope& operator=(const ErrorScope&) = delete;

 private:
#if PY_VERSION_HEX < 0x030C0000
  PyObject* type_ = nullptr;
  PyObject* traceback_ = nullptr;
#endif
  PyObject* value_ = nullptr;
};

// The current error as an exception, which is then no longer set. Precondition: there is one.
inline Ref<> take_error() {
#if PY_VERSION_HEX < 0x030C0000
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (traceback != nullptr) PyException_SetTraceback(value, traceback);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  return Ref<>::steal(value);
#else
  return Ref<>::steal(PyErr_GetRaisedException());
#endif
}

// The exception that is set (borrowed) where its class is CPython's own, made by now; nullptr for others. It
// stays set.
inline PyObject* builtin_error() {
  PyObject* type = PyErr_Occurred();
  if (type == nullptr || reinterpret_cast<PyTypeObject*>(type)->tp_flags & Py_TPFLAGS_HEAPTYPE)
    return nullptr;
#if PY_VERSION_HEX < 0x030C0000
  PyObject *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  PyErr_Restore(type, value, traceback);
  return value;
#else
  PyObject* value = PyErr_GetRaisedException();
  PyErr_SetRaisedException(value);
  return value;
#endif
}

}  // namespace stator

#endif
