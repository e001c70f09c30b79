// src/torch/tracing/capture_break.cpp: raises capture breaks and owns their Python class.
#include "torch/tracing/capture_break.h"

#include "torch/tracing/binding_warnings.h"
#include "torch/tracing/session.h"

namespace stator {

PyObject* capture_break_type() {
  static PyObject* type = PyErr_NewExceptionWithDoc("stator._torch.CaptureBreak",
                                                    "This operation cannot be captured; run it natively.",
                                                    PyExc_BaseException, nullptr);
  return type;
}

PyObject* CaptureBreak::python_type() { return capture_break_type(); }

void raise_break(BreakCode code, std::string message) {
  CaptureBreak error(code, std::move(message));
  Session* session = Session::current();
  if (session) drop_warnings();  // the native run gives them
  if (session && session->unrecorded == session->following) session->note_break(error.code, error.msg);
  throw error;
}

}  // namespace stator
