// capture/recording/break_exception.h: the exception that carries a stopped capture out of native frames.
#ifndef STATOR_CAPTURE_RECORDING_BREAK_EXCEPTION_H
#define STATOR_CAPTURE_RECORDING_BREAK_EXCEPTION_H

#include "capture/cpython/python.h"

namespace stator {

// Derives from BaseException and never reaches the user's program: the interpreter passes it over every
// handler.
PyObject* break_exception();

}  // namespace stator

#endif
