/* capture/cpython/py313.c: frames of CPython 3.13. */
#define Py_BUILD_CORE_MODULE 1
#include "capture/cpython/frame.h"
#include "capture/cpython/opcode_rows.h"
#include "internal/pycore_ceval.h"
#include "internal/pycore_code.h"
#include "internal/pycore_descrobject.h"
#include "internal/pycore_frame.h"
#include "internal/pycore_interp.h"
#include "internal/pycore_object.h"
#include "internal/pycore_pystate.h"
#include "opcode.h"

#define STATOR_OPCODE_ROWS "capture/cpython/opcodes_py313.def"
#include "capture/cpython/py_shared.inc"

SAME_OFFSET(code, f_executable);
SAME_OFFSET(instruction, instr_ptr);

#include "capture/cpython/py312_plus.inc"

const volatile void* stator_eval_breaker(PyThreadState* thread) { return &thread->eval_breaker; }

int stator_wants_more_than_gil(PyThreadState* thread) {
  const uintptr_t asked = _Py_atomic_load_uintptr_relaxed(&thread->eval_breaker);
  return (asked & (_PY_SIGNALS_PENDING_BIT | _PY_CALLS_TO_DO_BIT | _PY_ASYNC_EXCEPTION_BIT)) != 0;
}

/* CPython exports its own way of ending a frame, of whatever owner, with or without a frame object. */
void stator_clear_frame(PyThreadState* thread, StatorFrame* frame) {
  _PyEval_FrameClearAndPop(thread, (_PyInterpreterFrame*)frame);
}

typedef int (*EventFunction)(PyMonitoringState*, PyObject* code, int32_t offset);

static void report(PyThreadState* thread, StatorFrame* frame, const StatorUnit* at, int event,
                   EventFunction fire) {
  PyMonitoringState tools = {thread->interp->monitors.tools[event], 0};
  if (tools.active == 0 || thread->tracing || frame->code->co_flags & CO_NO_MONITORING_EVENTS) return;
  const ptrdiff_t unit = at - (StatorUnit*)_PyCode_CODE(frame->code);
  fire(&tools, (PyObject*)frame->code, (int32_t)(unit * (ptrdiff_t)sizeof(StatorUnit)));
}

void stator_report_error(PyThreadState* thread, StatorFrame* frame, const StatorUnit* unit) {
  report(thread, frame, unit, PY_MONITORING_EVENT_RAISE, _PyMonitoring_FireRaiseEvent);
}

void stator_report_handled(PyThreadState* thread, StatorFrame* frame, const StatorUnit* unit) {
  report(thread, frame, unit, PY_MONITORING_EVENT_EXCEPTION_HANDLED, _PyMonitoring_FireExceptionHandledEvent);
}

void stator_report_unwind(PyThreadState* thread, StatorFrame* frame, const StatorUnit* unit) {
  report(thread, frame, unit, PY_MONITORING_EVENT_PY_UNWIND, _PyMonitoring_FirePyUnwindEvent);
}
