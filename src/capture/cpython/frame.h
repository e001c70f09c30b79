/* capture/cpython/frame.h: one interface to a running frame on every supported CPython.
 *
 * Words: a frame is *linked* while the thread sees it as running; it *stands on* an instruction while that
 * runs; it *goes on at* an instruction when CPython is to continue there. `stacktop` is -1 while a frame
 * runs, as CPython itself keeps it. */
#ifndef STATOR_CAPTURE_CPYTHON_FRAME_H
#define STATOR_CAPTURE_CPYTHON_FRAME_H

#include <stddef.h>

#include "capture/cpython/layout.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef PyObject* (*StatorEvaluator)(PyThreadState*, StatorFrame*, int throwflag);

/* CPython's own evaluator: continues the frame from where it goes on; with throwflag the current error is
 * raised there. */
PyObject* stator_evaluate(PyThreadState* thread, StatorFrame* frame, int throwflag);
void stator_set_evaluator(PyInterpreterState* interpreter,
                          StatorEvaluator evaluator); /* NULL: CPython's own */
/* The evaluator that is installed; NULL for CPython's own. */
StatorEvaluator stator_get_evaluator(PyInterpreterState* interpreter);
/* CPython's own, by the address that other libraries know it by. */
StatorEvaluator stator_default_evaluator(void);

/* Where the interpreter keeps its evaluator; NULL there is CPython's own. */
const StatorEvaluator* stator_evaluator_slot(PyInterpreterState* interpreter);

/* Ends an unlinked frame as CPython would: clears it, or gives it to its frame object, and takes it off the
 * thread's stack. */
void stator_clear_frame(PyThreadState* thread, StatorFrame* frame);

/* The current error as one normalised exception (new reference, or NULL), and back (steals). */
PyObject* stator_take_error(void);
void stator_give_error(PyObject* exception);

/* The word that is non-zero when signals, pending calls, the GIL or the collector want attention. */
const volatile void* stator_eval_breaker(PyThreadState* thread);
/* Whether signals, pending calls or asynchronous exceptions are among them. */
int stator_wants_more_than_gil(PyThreadState* thread);

/* Tell active tools that the current error was raised in the linked frame, that the handler at `unit` gets
 * it, or that it leaves the frame. A tool that raises replaces the error. */
void stator_report_error(PyThreadState* thread, StatorFrame* frame, const StatorUnit* unit);
void stator_report_handled(PyThreadState* thread, StatorFrame* frame, const StatorUnit* unit);
void stator_report_unwind(PyThreadState* thread, StatorFrame* frame, const StatorUnit* unit);

#if STATOR_PY >= 312
/* Where the interpreter's state holds, for each kind of event, the tools that want it from all code. */
extern const ptrdiff_t stator_monitors_offset;
#define STATOR_MONITORED_EVENTS 15
/* Whether a tracer, a profiler or a monitoring tool has events set that somebody hears. */
int stator_tools_active(PyThreadState* thread);
/* For code that has monitoring data: whether a tool has events set on it, or instructions of a tool that is
 * gone are still in it. CPython brings such code up to date when it next starts it. */
int stator_code_monitored(PyThreadState* thread, const PyCodeObject* code);
#endif

/* The function behind a property's reads, or NULL. Borrowed. Asked only where such reads enter frames. */
PyObject* stator_property_getter(PyObject* property);

/* Marks a function's frames as never complete: tracebacks, signal handlers and sys._getframe pass over them.
 */
void stator_hide_function(PyObject* function);

#ifdef __cplusplus
}  // extern "C"

namespace stator::cpython {

using Frame = StatorFrame;
using Unit = StatorUnit;

inline Unit* code_start(PyCodeObject* code) { return reinterpret_cast<Unit*>(code->co_code_adaptive); }

inline int frame_words(PyCodeObject* code) {
#if STATOR_PY == 311
  return code->co_nlocalsplus + code->co_stacksize + STATOR_FRAME_SPECIALS;
#else
  return code->co_framesize;
#endif
}

// --- linking
// -------------------------------------------------------------------------------------------------------
inline Frame*& current_frame(PyThreadState* thread) {
#if STATOR_PY <= 312
  return reinterpret_cast<Frame*&>(thread->cframe->current_frame);
#else
  return reinterpret_cast<Frame*&>(thread->current_frame);
#endif
}
inline void link(PyThreadState* thread, Frame* frame) {
  frame->previous = current_frame(thread);
  current_frame(thread) = frame;
}
inline void unlink(PyThreadState* thread, Frame* frame) { current_frame(thread) = frame->previous; }

// --- position
// ------------------------------------------------------------------------------------------------------
inline void stand_on(Frame* frame, Unit* at) { frame->instruction = at; }
#if STATOR_PY <= 312
inline void go_on_at(Frame* frame, Unit* next) { frame->instruction = next - 1; }
inline Unit* next_unit(const Frame* frame) { return frame->instruction + 1; }
// Where an error raised into a frame that is not running belongs.
inline Unit* raise_unit(const Frame* frame) { return frame->instruction; }
// The unit that tools are told for an error of the instruction at `at`: where it stood.
inline Unit* reported_unit(Unit* at, Unit* next, bool from_callee) { return from_callee ? next - 1 : at; }
#else
inline void go_on_at(Frame* frame, Unit* next) { frame->instruction = next; }
inline Unit* next_unit(const Frame* frame) { return frame->instruction; }
inline Unit* raise_unit(const Frame* frame) { return frame->instruction - 1; }
// The last unit of the instruction, or, where the error comes out of a callee's frame, the one before the
// call.
inline Unit* reported_unit(Unit* at, Unit* next, bool from_callee) { return (from_callee ? at : next) - 1; }
#endif

// A generator or coroutine that is not running and has not ended.
inline bool is_resumable(PyObject* object) {
  if (!PyGen_CheckExact(object) && !PyCoro_CheckExact(object)) return false;
  return reinterpret_cast<PyGenObject*>(object)->gi_frame_state < 0;
}

// A coroutine that was made and not started: CPython warns when it dies like that.
inline bool is_unawaited(PyObject* object) {
  constexpr int kCreated = STATOR_PY >= 313 ? -3 : -2;
  return PyCoro_CheckExact(object) && reinterpret_cast<PyGenObject*>(object)->gi_frame_state == kCreated;
}

// Takes up a resumable generator or coroutine in the state that the evaluator starts it with, `sent` (stolen)
// on its stack. It is not linked yet.
inline Frame* generator_frame(PyObject* generator) {
  return reinterpret_cast<Frame*>(reinterpret_cast<PyGenObject*>(generator)->gi_iframe);
}
inline PyObject* generator_of(Frame* frame) {
  return reinterpret_cast<PyObject*>(reinterpret_cast<char*>(frame) - offsetof(PyGenObject, gi_iframe));
}
inline void resume(PyThreadState* thread, PyObject* generator, PyObject* sent) {
  auto* const object = reinterpret_cast<PyGenObject*>(generator);
  Frame* const frame = generator_frame(generator);
  frame->localsplus[frame->stacktop++] = sent;
  object->gi_exc_state.previous_item = thread->exc_info;
  thread->exc_info = &object->gi_exc_state;
  object->gi_frame_state = 0;  // executing
}

// A frame before its first traceable instruction is not shown to anybody.
inline bool is_incomplete(const Frame* frame) {
  return frame->owner != STATOR_OWNED_BY_GENERATOR &&
         frame->instruction < code_start(frame->code) + frame->code->_co_firsttraceable;
}

// --- stack
// ---------------------------------------------------------------------------------------------------------
inline PyObject** stack_base(Frame* frame) { return frame->localsplus + frame->code->co_nlocalsplus; }
inline PyObject** take_stack(Frame* frame) {
  PyObject** top = frame->localsplus + frame->stacktop;
  frame->stacktop = -1;
  return top;
}
inline void give_stack(Frame* frame, PyObject** top) {
  frame->stacktop = static_cast<int>(top - frame->localsplus);
}

// --- recursion
// -----------------------------------------------------------------------------------------------------
// Python frames count in `python_recursion`; each activation of an evaluator counts in `native_recursion`
// where it is apart.
inline int& python_recursion(PyThreadState* thread) {
#if STATOR_PY == 311
  return thread->recursion_remaining;
#else
  return thread->py_recursion_remaining;
#endif
}
// The level that the C API counts for a call, before which it is given back and after which it is taken
// again.
inline int& call_level(PyThreadState* thread) {
#if STATOR_PY == 311
  return thread->recursion_remaining;
#else
  return thread->c_recursion_remaining;
#endif
}
#if STATOR_PY == 311
inline bool native_recursion_left(PyThreadState*) { return true; }
inline void enter_native(PyThreadState*) {}
inline void leave_native(PyThreadState*) {}
#else
inline constexpr int kUnitsPerEvaluator = 2;
// From 3.13 on CPython looks whether any unit is left before it takes them.
inline constexpr int kUnitsToEnter = STATOR_PY == 312 ? kUnitsPerEvaluator : 1;
inline bool native_recursion_left(PyThreadState* thread) {
  return thread->c_recursion_remaining >= kUnitsToEnter;
}
inline void enter_native(PyThreadState* thread) { thread->c_recursion_remaining -= kUnitsPerEvaluator; }
inline void leave_native(PyThreadState* thread) { thread->c_recursion_remaining += kUnitsPerEvaluator; }
#endif

// --- attention
// -----------------------------------------------------------------------------------------------------
#if STATOR_PY <= 312
using EvalBreaker = const volatile int*;
inline bool wants_attention(EvalBreaker breaker) { return *breaker != 0; }
#else
// The upper bits hold the version of the monitoring tools.
using EvalBreaker = const volatile uintptr_t*;
inline bool wants_attention(EvalBreaker breaker) { return (*breaker & 0xFF) != 0; }
#endif
inline EvalBreaker eval_breaker(PyThreadState* thread) {
  return static_cast<EvalBreaker>(stator_eval_breaker(thread));
}

// Whether a tool wants events of the thread; with a frame: of that frame.
#if STATOR_PY == 311
inline bool tracing(PyThreadState* thread) { return thread->cframe->use_tracing != 0; }
inline bool tracing(PyThreadState* thread, const Frame*) { return tracing(thread); }
#else
inline bool tracing(PyThreadState* thread) {
  const char* monitors = reinterpret_cast<const char*>(thread->interp) + stator_monitors_offset;
  uint64_t first, last;
  __builtin_memcpy(&first, monitors, sizeof first);
  __builtin_memcpy(&last, monitors + STATOR_MONITORED_EVENTS - sizeof last, sizeof last);
  return (first | last) != 0 && stator_tools_active(thread);
}
inline bool tracing(PyThreadState* thread, const Frame* frame) {
  return tracing(thread) ||
         (frame->code->_co_monitoring != nullptr && stator_code_monitored(thread, frame->code));
}
#endif

// --- pushing
// -------------------------------------------------------------------------------------------------------
// Room for a frame of `code` on the thread's own stack, or nullptr where CPython would have to add a chunk.
inline Frame* reserve(PyThreadState* thread, PyCodeObject* code) {
  const int words = frame_words(code);
  if (thread->datastack_top == nullptr || words >= thread->datastack_limit - thread->datastack_top)
    return nullptr;
  auto* frame = reinterpret_cast<Frame*>(thread->datastack_top);
  thread->datastack_top += words;
  return frame;
}

// Initialises a reserved frame for `function` (steals it); the first `bound` locals are filled in by the
// caller.
inline void initialise(Frame* frame, PyFunctionObject* function, PyCodeObject* code, int bound) {
  frame->function = reinterpret_cast<PyObject*>(function);
  frame->code = reinterpret_cast<PyCodeObject*>(Py_NewRef(reinterpret_cast<PyObject*>(code)));
  frame->globals = function->func_globals;
  frame->builtins = function->func_builtins;
  frame->locals = nullptr;
  frame->frame_object = nullptr;
  frame->stacktop = code->co_nlocalsplus;
#if STATOR_PY == 311
  frame->is_entry = 1;
#else
  frame->return_offset = 0;
#endif
  frame->owner = STATOR_OWNED_BY_THREAD;
  go_on_at(frame, code_start(code));
  for (int i = bound; i < code->co_nlocalsplus; i++) frame->localsplus[i] = nullptr;
}

// --- calls of classes
// ----------------------------------------------------------------------------------------------
// Where they enter `__init__`: CPython puts a frame of its own, which nobody sees, between it and its caller.
// Here the caller is marked instead, in a field that CPython writes before it uses it; the frame's room is
// taken all the same, since the call is made through C where both do not fit into a chunk of the thread's
// stack.
#if STATOR_PY >= 313
inline constexpr int kInitFrameWords = STATOR_FRAME_SPECIALS + 2;
inline bool has_inline_values(const PyTypeObject* type) {
  return PyType_HasFeature(const_cast<PyTypeObject*>(type), Py_TPFLAGS_INLINE_VALUES);
}
inline bool takes_init_room(PyThreadState* thread, PyFunctionObject* init) {
  const int words = frame_words(reinterpret_cast<PyCodeObject*>(init->func_code)) + kInitFrameWords;
  if (thread->datastack_top == nullptr || words >= thread->datastack_limit - thread->datastack_top)
    return false;
  thread->datastack_top += kInitFrameWords;
  return true;
}
inline void give_init_room(PyThreadState* thread) { thread->datastack_top -= kInitFrameWords; }
inline void mark_init(Frame* caller) { caller->return_offset = 1; }
inline bool take_init_mark(Frame* caller) {
  const bool marked = caller->return_offset != 0;
  caller->return_offset = 0;
  return marked;
}
#else
inline bool has_inline_values(const PyTypeObject*) { return false; }
inline bool takes_init_room(PyThreadState*, PyFunctionObject*) { return false; }
inline void give_init_room(PyThreadState*) {}
inline void mark_init(Frame*) {}
inline bool take_init_mark(Frame*) { return false; }
#endif

}  // namespace stator::cpython
#endif

#endif
