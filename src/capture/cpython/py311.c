/* capture/cpython/py311.c: frames of CPython 3.11. */
#define Py_BUILD_CORE_MODULE 1
#include "capture/cpython/frame.h"
#include "capture/cpython/opcode_rows.h"
#include "internal/pycore_code.h"
#include "internal/pycore_frame.h"
#include "internal/pycore_interp.h"
#include "internal/pycore_object.h"
#include "internal/pycore_pystate.h"
#include "opcode.h"

#define STATOR_OPCODE_ROWS "capture/cpython/opcodes_py311.def"
#include "capture/cpython/py_shared.inc"

SAME_OFFSET(function, f_func);
SAME_OFFSET(code, f_code);
SAME_OFFSET(instruction, prev_instr);
SAME_OFFSET(is_entry, is_entry);

PyObject* stator_take_error(void) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  if (type == NULL) return NULL;
  PyErr_NormalizeException(&type, &value, &traceback);
  PyException_SetTraceback(value, traceback ? traceback : Py_None);
  Py_XDECREF(traceback);
  Py_DECREF(type);
  return value;
}

void stator_give_error(PyObject* exception) {
  PyErr_Restore(Py_NewRef(Py_TYPE(exception)), exception, PyException_GetTraceback(exception));
}

const volatile void* stator_eval_breaker(PyThreadState* thread) {
  return &thread->interp->ceval.eval_breaker;
}

int stator_wants_more_than_gil(PyThreadState* thread) {
  const struct _pending_calls* pending = &thread->interp->ceval.pending;
  return _Py_atomic_load_relaxed(&pending->calls_to_do) != 0 || pending->async_exc != 0 ||
         _Py_atomic_load_relaxed(&_PyRuntime.ceval.signals_pending) != 0;
}

static int is_incomplete(_PyInterpreterFrame* frame) {
  return frame->owner != FRAME_OWNED_BY_GENERATOR &&
         frame->prev_instr < _PyCode_CODE(frame->f_code) + frame->f_code->_co_firsttraceable;
}

/* The frame object outlives the call: it takes the frame's contents, and links to its caller's frame object.
 */
static void move_into_frame_object(PyThreadState* thread, _PyInterpreterFrame* frame, PyFrameObject* object) {
  _PyInterpreterFrame* caller = frame->previous;
  while (caller != NULL && is_incomplete(caller)) caller = caller->previous;
  PyFrameObject* back = NULL;
  if (caller != NULL) {
    back = caller->frame_obj;
    if (back != NULL) {
      Py_INCREF(back);
    } else {
      /* Making a frame object is only exported for the thread's current frame. */
      _PyInterpreterFrame* current = thread->cframe->current_frame;
      thread->cframe->current_frame = caller;
      back = PyThreadState_GetFrame(thread);
      thread->cframe->current_frame = current;
      if (back == NULL) PyErr_Clear();
    }
  }
  _PyInterpreterFrame* own = (_PyInterpreterFrame*)object->_f_frame_data;
  memcpy(own, frame, (size_t)((char*)&frame->localsplus[frame->stacktop] - (char*)frame));
  own->owner = FRAME_OWNED_BY_FRAME_OBJECT;
  own->previous = NULL;
  object->f_frame = own;
  if (is_incomplete(own)) own->prev_instr = _PyCode_CODE(own->f_code) + own->f_code->_co_firsttraceable;
  object->f_back = back;
  if (!PyObject_GC_IsTracked((PyObject*)object)) PyObject_GC_Track(object);
}

PyObject* stator_property_getter(PyObject* property) {
  (void)property;
  return NULL; /* 3.11 reads properties through C only */
}

void stator_clear_frame(PyThreadState* thread, StatorFrame* ours) {
  _PyInterpreterFrame* frame = (_PyInterpreterFrame*)ours;
  PyFrameObject* object = frame->frame_obj;
  thread->recursion_remaining--;
  frame->frame_obj = NULL;
  if (object != NULL && Py_REFCNT(object) > 1) {
    move_into_frame_object(thread, frame, object);
    Py_DECREF(object);
  } else {
    Py_XDECREF(object);
    for (int i = 0; i < frame->stacktop; i++) Py_XDECREF(frame->localsplus[i]);
    Py_XDECREF(frame->f_locals);
    Py_DECREF(frame->f_func);
    Py_DECREF(frame->f_code);
  }
  thread->recursion_remaining++;
  thread->datastack_top = (PyObject**)frame;
}

static int call_tool(PyThreadState* thread, Py_tracefunc tool, PyObject* self, int what, PyObject* argument) {
  if (tool == NULL || thread->tracing) return 0;
  PyFrameObject* frame = PyThreadState_GetFrame(thread);
  if (frame == NULL) return 0;
  const int outer_what = thread->tracing_what;
  thread->tracing_what = what;
  PyThreadState_EnterTracing(thread);
  const int status = tool(self, frame, what, argument);
  PyThreadState_LeaveTracing(thread);
  thread->tracing_what = outer_what;
  Py_DECREF(frame);
  return status;
}

void stator_report_error(PyThreadState* thread, StatorFrame* frame, const StatorUnit* unit) {
  (void)frame;
  (void)unit;
  if (thread->c_tracefunc == NULL) return;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  PyObject* argument = PyTuple_Pack(3, type, value ? value : Py_None, traceback ? traceback : Py_None);
  const int status = argument != NULL ? call_tool(thread, thread->c_tracefunc, thread->c_traceobj,
                                                  PyTrace_EXCEPTION, argument)
                                      : -1;
  Py_XDECREF(argument);
  if (status == 0) {
    PyErr_Restore(type, value, traceback);
  } else {
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
  }
}

static void report_return(PyThreadState* thread, Py_tracefunc tool, PyObject* self) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  if (call_tool(thread, tool, self, PyTrace_RETURN, NULL) == 0) {
    PyErr_Restore(type, value, traceback);
  } else {
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
  }
}

/* Tracers of 3.11 are not told of handlers. */
void stator_report_handled(PyThreadState* thread, StatorFrame* frame, const StatorUnit* unit) {
  (void)thread;
  (void)frame;
  (void)unit;
}

void stator_report_unwind(PyThreadState* thread, StatorFrame* frame, const StatorUnit* unit) {
  (void)frame;
  (void)unit;
  report_return(thread, thread->c_tracefunc, thread->c_traceobj);
  report_return(thread, thread->c_profilefunc, thread->c_profileobj);
}
