/* capture/cpython/py312.c: frames of CPython 3.12. */
#define Py_BUILD_CORE_MODULE 1
#include "capture/cpython/frame.h"
#include "capture/cpython/opcode_rows.h"
#include "internal/pycore_code.h"
#include "internal/pycore_descrobject.h"
#include "internal/pycore_frame.h"
#include "internal/pycore_interp.h"
#include "internal/pycore_object.h"
#include "internal/pycore_pystate.h"
#include "opcode.h"

#define STATOR_OPCODE_ROWS "capture/cpython/opcodes_py312.def"
#include "capture/cpython/py_shared.inc"

SAME_OFFSET(code, f_code);
SAME_OFFSET(instruction, prev_instr);

#include "capture/cpython/py312_plus.inc"

const volatile void* stator_eval_breaker(PyThreadState* thread) {
  return &thread->interp->ceval.eval_breaker;
}

int stator_wants_more_than_gil(PyThreadState* thread) {
  const struct _pending_calls* pending = &thread->interp->ceval.pending;
  const struct _pending_calls* of_main = &_PyRuntime.ceval.pending_mainthread;
  return _Py_atomic_load_relaxed(&pending->calls_to_do) != 0 || pending->async_exc != 0 ||
         _Py_atomic_load_relaxed(&of_main->calls_to_do) != 0 ||
         _Py_atomic_load_relaxed(&_PyRuntime.ceval.signals_pending) != 0;
}

/* The frame object outlives the call: it takes the frame's contents and links to the caller's. */
static void move_into_frame_object(PyThreadState* thread, _PyInterpreterFrame* frame, PyFrameObject* object) {
  _PyInterpreterFrame* own = (_PyInterpreterFrame*)object->_f_frame_data;
  Py_INCREF(frame->f_code);
  memcpy(own, frame, (size_t)((char*)&frame->localsplus[frame->stacktop] - (char*)frame));
  own->owner = FRAME_OWNED_BY_FRAME_OBJECT;
  own->previous = NULL;
  object->f_frame = own;
  if (_PyFrame_IsIncomplete(own)) {
    own->prev_instr = _PyCode_CODE(own->f_code) + own->f_code->_co_firsttraceable;
  }
  _PyInterpreterFrame* caller = _PyFrame_GetFirstComplete(frame->previous);
  if (caller != NULL) {
    /* Making a frame object is only exported for the thread's current frame. */
    _PyInterpreterFrame* current = thread->cframe->current_frame;
    thread->cframe->current_frame = caller;
    object->f_back = PyThreadState_GetFrame(thread);
    thread->cframe->current_frame = current;
    if (object->f_back == NULL) PyErr_Clear();
  }
  if (!PyObject_GC_IsTracked((PyObject*)object)) PyObject_GC_Track(object);
}

static void clear(PyThreadState* thread, _PyInterpreterFrame* frame) {
  PyFrameObject* object = frame->frame_obj;
  frame->frame_obj = NULL;
  if (object != NULL && Py_REFCNT(object) > 1) {
    move_into_frame_object(thread, frame, object);
    Py_DECREF(object);
    return;
  }
  Py_XDECREF(object);
  const int count = frame->stacktop;
  frame->stacktop = 0;
  for (int i = 0; i < count; i++) Py_XDECREF(frame->localsplus[i]);
  Py_CLEAR(frame->f_locals);
  Py_DECREF(frame->f_funcobj);
}

static void pop(PyThreadState* thread, _PyInterpreterFrame* frame) {
  _PyStackChunk* chunk = thread->datastack_chunk;
  if ((PyObject**)frame != &chunk->data[0]) {
    thread->datastack_top = (PyObject**)frame;
    return;
  }
  /* The first frame of a chunk takes the chunk with it; the thread's first chunk never starts with one. */
  _PyStackChunk* previous = chunk->previous;
  thread->datastack_top = &previous->data[previous->top];
  thread->datastack_chunk = previous;
  thread->datastack_limit = (PyObject**)((char*)previous + previous->size);
  PyObjectArenaAllocator arena;
  PyObject_GetArenaAllocator(&arena);
  arena.free(arena.ctx, chunk, chunk->size);
}

void stator_clear_frame(PyThreadState* thread, StatorFrame* ours) {
  _PyInterpreterFrame* frame = (_PyInterpreterFrame*)ours;
  if (frame->owner == FRAME_OWNED_BY_GENERATOR) {
    PyGenObject* generator = _PyFrame_GetGenerator(frame);
    generator->gi_frame_state = FRAME_CLEARED;
    thread->exc_info = generator->gi_exc_state.previous_item;
    generator->gi_exc_state.previous_item = NULL;
    thread->c_recursion_remaining--;
    clear(thread, frame);
    thread->c_recursion_remaining++;
    frame->previous = NULL;
    return;
  }
  thread->c_recursion_remaining--;
  clear(thread, frame);
  Py_DECREF(frame->f_code);
  thread->c_recursion_remaining++;
  pop(thread, frame);
}

/* Calls every tool that wants `event`, as the evaluator does: not from within a tool, and a tool that raises
 * replaces the error. */
static void report(PyThreadState* thread, StatorFrame* frame, const StatorUnit* at, int event) {
  PyInterpreterState* interpreter = thread->interp;
  unsigned tools = interpreter->monitors.tools[event];
  if (tools == 0 || thread->tracing) return;
  PyObject* error = PyErr_GetRaisedException();
  const ptrdiff_t unit = at - (StatorUnit*)_PyCode_CODE(frame->code);
  PyObject* offset = PyLong_FromSsize_t(unit * (ptrdiff_t)sizeof(StatorUnit));
  PyObject* arguments[] = {NULL, (PyObject*)frame->code, offset, error};
  int failed = offset == NULL;
  for (int tool = PY_MONITORING_TOOL_IDS - 1; tool >= 0 && !failed; tool--) {
    PyObject* callback = interpreter->monitoring_callables[tool][event];
    if (!(tools & 1u << tool) || callback == NULL) continue;
    const int outer_event = thread->what_event;
    thread->what_event = event;
    thread->tracing++;
    PyObject* result = PyObject_Vectorcall(callback, arguments + 1, 3 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    thread->tracing--;
    thread->what_event = outer_event;
    failed = result == NULL;
    Py_XDECREF(result);
  }
  Py_XDECREF(offset);
  if (failed) {
    Py_DECREF(error);
  } else {
    PyErr_SetRaisedException(error);
  }
}

void stator_report_error(PyThreadState* thread, StatorFrame* frame, const StatorUnit* unit) {
  report(thread, frame, unit, PY_MONITORING_EVENT_RAISE);
}

void stator_report_handled(PyThreadState* thread, StatorFrame* frame, const StatorUnit* unit) {
  report(thread, frame, unit, PY_MONITORING_EVENT_EXCEPTION_HANDLED);
}

void stator_report_unwind(PyThreadState* thread, StatorFrame* frame, const StatorUnit* unit) {
  report(thread, frame, unit, PY_MONITORING_EVENT_PY_UNWIND);
}
