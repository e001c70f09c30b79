// capture/recording/break_exception.cpp: the exception that carries a stopped capture out of native frames.
#include "capture/recording/break_exception.h"

namespace stator {

PyObject* break_exception() {
  static PyObject* const type =
      PyErr_NewException("stator._capture.CaptureStopped", PyExc_BaseException, nullptr);
  return type != nullptr ? type : PyExc_SystemError;
}

}  // namespace stator
