// capture/engine/interrupts.h: what interrupts the program (Ctrl-C, sys.exit() in a signal's handler) may
// arrive while code of ours runs: hooks, backends that compile. It is the program's, and not lost with what
// that code did.
#ifndef STATOR_CAPTURE_ENGINE_INTERRUPTS_H
#define STATOR_CAPTURE_ENGINE_INTERRUPTS_H

#include "capture/cpython/ref.h"

namespace stator {

// The error that is set is one that only the program may catch.
inline bool is_interrupted() {
  return PyErr_Occurred() != nullptr &&
         (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt) || PyErr_ExceptionMatches(PyExc_SystemExit));
}

namespace detail {

inline int raise_again(void* interrupt) {
  const auto error = Ref<>::steal(static_cast<PyObject*>(interrupt));
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.get())), error.get());
  return -1;
}

// Signals and pending calls are the main thread's. 0: not known.
inline unsigned long main_thread() {
  const auto threading = Ref<>::steal(PyImport_ImportModule("threading"));
  const auto thread =
      Ref<>::steal(threading ? PyObject_CallMethod(threading.get(), "main_thread", nullptr) : nullptr);
  const auto ident = Ref<>::steal(thread ? PyObject_GetAttrString(thread.get(), "ident") : nullptr);
  const unsigned long number = ident ? PyLong_AsUnsignedLong(ident.get()) : 0;
  PyErr_Clear();
  return number;
}

}  // namespace detail

// Where the program goes on: an interrupt is raised in it as soon as Python looks for signals, any other
// error that is set is dropped.
inline void drop_error_but_interrupts() {
  if (!is_interrupted()) return PyErr_Clear();
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  Py_XDECREF(type);
  Py_XDECREF(traceback);  // it shows code of ours
  Ref<> error = Ref<>::steal(value);
  const unsigned long here = PyThread_get_thread_ident();
  if (here != detail::main_thread())
    PyThreadState_SetAsyncExc(here, reinterpret_cast<PyObject*>(Py_TYPE(error.get())));
  else if (Py_AddPendingCall(&detail::raise_again, error.get()) == 0)
    (void)error.release();
}

}  // namespace stator

#endif
