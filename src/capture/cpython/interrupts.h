// capture/cpython/interrupts.h: how errors are dropped. What interrupts the program (Ctrl-C, sys.exit() in a
// signal's handler, what another thread raises in this one) may arrive in any Python code that the engine
// calls: hooks, backends that compile, functions of torch. It is the program's, and not lost with what that
// code did.
#ifndef STATOR_CAPTURE_CPYTHON_INTERRUPTS_H
#define STATOR_CAPTURE_CPYTHON_INTERRUPTS_H

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

// Pending calls are the main thread's. Runs no Python code, in which the next interrupt would arrive.
inline bool is_main_thread() {
  const auto name = Ref<>::steal(PyUnicode_FromString("threading"));
  const auto threading = Ref<>::steal(name ? PyImport_GetModule(name.get()) : nullptr);
  const auto thread =
      Ref<>::steal(threading ? PyObject_GetAttrString(threading.get(), "_main_thread") : nullptr);
  const auto ident = Ref<>::steal(thread ? PyObject_GetAttrString(thread.get(), "_ident") : nullptr);
  const unsigned long number = ident ? PyLong_AsUnsignedLong(ident.get()) : 0;
  PyErr_Clear();
  return !ident || number == PyThread_get_thread_ident();
}

// It is raised as soon as Python looks for signals. Asynchronous exceptions are classes: what the instance
// held is lost in other threads.
inline void raise_soon(Ref<> interrupt) {
  if (is_main_thread() && Py_AddPendingCall(&raise_again, interrupt.get()) == 0)
    (void)interrupt.release();
  else
    PyThreadState_SetAsyncExc(PyThread_get_thread_ident(),
                              reinterpret_cast<PyObject*>(Py_TYPE(interrupt.get())));
}

// Kept in the thread's dictionary, since each extension module has this header's code once.
inline PyObject* list_key() {
  static PyObject* const key = PyUnicode_InternFromString("stator: interrupts that wait");
  return key;
}

// Borrowed; nullptr: nobody waits.
inline PyObject* list_of_waiting() {
  PyObject* const dict = PyThreadState_GetDict();
  return dict != nullptr ? PyDict_GetItemWithError(dict, list_key()) : nullptr;
}

[[gnu::cold, gnu::noinline]] inline void keep_interrupt() {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  auto error = Ref<>::steal(value);
  PyException_SetTraceback(value, Py_None);  // it shows code of ours
  PyObject* const waiting = list_of_waiting();
  if (waiting != nullptr && PyList_GET_SIZE(waiting) == 0 && PyList_Append(waiting, value) == 0) return;
  PyErr_Clear();
  raise_soon(std::move(error));
}

}  // namespace detail

// Drops the error that is set, if there is one. An interrupt is kept: an InterruptsWait of the thread's has
// it, or else it is raised as soon as Python looks for signals.
inline void drop_error() {
  if (PyErr_Occurred() == nullptr) return;
  if (is_interrupted()) [[unlikely]]
    return detail::keep_interrupt();
  PyErr_Clear();
}

// Where CPython drops interrupts as well, and of what the program itself raised in a run that is taken back:
// it comes again.
inline void drop_even_interrupts() { PyErr_Clear(); }

// One was dropped in the InterruptsWait that the thread is in.
inline bool interrupt_waits() {
  PyObject* const waiting = detail::list_of_waiting();
  return waiting != nullptr && PyList_GET_SIZE(waiting) != 0;
}

// While it lives, the engine works and the program does not go on: interrupts that are dropped wait for its
// end, where they can be raised in the program, and do not turn up in the next Python code that the engine
// calls.
class InterruptsWait {
 public:
  InterruptsWait() : outer_(Ref<>::share(detail::list_of_waiting())), own_(Ref<>::steal(PyList_New(0))) {
    PyObject* const dict = PyThreadState_GetDict();
    if (!own_ || dict == nullptr || PyDict_SetItem(dict, detail::list_key(), own_.get()) < 0) PyErr_Clear();
  }
  ~InterruptsWait() {
    PyObject* const dict = PyThreadState_GetDict();
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (dict != nullptr && (outer_ ? PyDict_SetItem(dict, detail::list_key(), outer_.get())
                                   : PyDict_DelItem(dict, detail::list_key())) < 0)
      PyErr_Clear();
    if (Ref<> kept = take()) detail::raise_soon(std::move(kept));
    PyErr_Restore(type, value, traceback);
  }
  InterruptsWait(const InterruptsWait&) = delete;
  InterruptsWait& operator=(const InterruptsWait&) = delete;

  // The interrupt that waits, if any, becomes the error that is set; whether one did.
  bool raise() {
    Ref<> kept = take();
    if (!kept) return false;
    drop_error();
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(kept.get())), kept.get());
    return true;
  }

 private:
  Ref<> take() {
    if (!own_ || PyList_GET_SIZE(own_.get()) == 0) return {};
    Ref<> kept = Ref<>::share(PyList_GET_ITEM(own_.get(), 0));
    PyList_SetSlice(own_.get(), 0, 1, nullptr);
    return kept;
  }

  Ref<> outer_;
  Ref<> own_;  // at most one; the next ones are raised soon
};

}  // namespace stator

#endif
