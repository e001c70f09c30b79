/* capture/cpython/py312.c: frames of CPython 3.12. */
#define Py_BUILD_CORE_MODULE 1
#include "capture/cpython/frame.h"

#include <stddef.h>
#include <string.h>

#include "internal/pycore_code.h"
#include "internal/pycore_frame.h"
#include "internal/pycore_interp.h"
#include "internal/pycore_object.h"
#include "internal/pycore_pystate.h"
#include "opcode.h"

#include "capture/cpython/opcode_rows.h"

#define STATOR_OPCODE_ROWS "capture/cpython/opcodes_py312.def"
#include "capture/cpython/py_shared.inc"
#include "capture/cpython/py312_plus.inc"

SAME_OFFSET(code, f_code);
SAME_OFFSET(instruction, prev_instr);

const volatile void* stator_eval_breaker(PyThreadState* thread) { return &thread->interp->ceval.eval_breaker; }

/* Callers have asked ends_here: the frame is the thread's topmost, it has no frame object, and its chunk stays. */
int stator_clear_frame(PyThreadState* thread, StatorFrame* frame) {
  thread->c_recursion_remaining--;
  const int count = frame->stacktop;
  frame->stacktop = 0;
  for (int i = 0; i < count; i++) Py_XDECREF(frame->localsplus[i]);
  Py_CLEAR(frame->locals);
  Py_DECREF(frame->function);
  Py_DECREF(frame->code);
  thread->c_recursion_remaining++;
  thread->datastack_top = (PyObject**)frame;
  return 1;
}

/* The evaluator itself tells tools about errors (trait kReportsErrorsHere). */
void stator_report_error(PyThreadState* thread, StatorFrame* frame) {
  (void)thread;
  (void)frame;
}
void stator_report_unwind(PyThreadState* thread, StatorFrame* frame) {
  (void)thread;
  (void)frame;
}
