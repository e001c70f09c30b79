// capture/hook/eval_hook.cpp: what happens to a frame: kept for a call in progress, passed on, or
// interpreted.
#include <utility>

#include "capture/cpython/traits.h"
#include "capture/engine/engine.h"
#include "capture/engine/evaluators.h"
#include "capture/engine/native_stack.h"
#include "capture/engine/other_engine.h"
#include "capture/engine/overflow_stack.h"
#include "capture/interpreter/interpreter.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/known_objects.h"
#include "capture/recording/recording.h"
#include "capture/session/callee_captures.h"

namespace stator {

namespace {

using cpython::Frame;

// Under a hook each Python call that CPython makes costs a native activation; that is not the program's
// doing, so it does not count.
PyObject* pass_on(PyThreadState* thread, Frame* frame, int throwflag) {
  cpython::leave_native(thread);
  PyObject* result = other_evaluator != nullptr ? other_evaluator(thread, frame, throwflag)
                                                : stator_evaluate(thread, frame, throwflag);
  cpython::enter_native(thread);
  return result;
}

// Without the hook CPython runs Python calls without recursion on the native stack, so the rest of the depth
// is safe.
PyObject* pass_on_without_hook(PyThreadState* thread, Frame* frame, int throwflag) {
  Engine& engine = Engine::get();
  engine.suspend_hook();
  PyObject* result = stator_evaluate(thread, frame, throwflag);
  engine.resume_hook();
  return result;
}

// Another library's engine runs the frame. What it calls meanwhile, its own compiler among it, is not
// captured, unless it is a compiled function of ours.
PyObject* pass_to_other_engine(PyThreadState* thread, Frame* frame, int throwflag) {
  ThreadContext& context = thread_context;
  const bool inside = std::exchange(context.in_other_engine, true);
  Recording* const recording = std::exchange(context.recording, nullptr);
  const Mode mode = context.change_mode(Mode::off);
  CalleeCaptures* const callees = context.change_callees(nullptr);
  PyObject* result =
      native_stack_low() ? pass_on_without_hook(thread, frame, throwflag) : pass_on(thread, frame, throwflag);
  context.in_other_engine = inside;
  context.recording = recording;
  context.change_mode(mode);
  context.change_callees(callees);
  return result;
}

bool is_finalizer(const Frame* frame) {
  static PyObject* const name = PyUnicode_InternFromString("__del__");
  return frame->code->co_name == name;
}

bool is_foreign_generator(Frame* frame, const Recording& recording) {
  return frame->owner == STATOR_OWNED_BY_GENERATOR && !is_fresh(recording, cpython::generator_of(frame));
}

// The last words of something that died: a capture closes no generator but its own, and those it keeps.
bool is_last_word(Frame* frame, int throwflag, const Recording& recording) {
  return is_finalizer(frame) || (throwflag != 0 && is_foreign_generator(frame, recording));
}

// A callback of a tool, or an audit hook that CPython calls where captured code does something audited.
bool is_callback(const PyThreadState* thread, const Recording& recording) {
  return thread->tracing > recording.callback_depth;
}

// A frame below a function that runs eagerly: a capture of its own, or CPython.
PyObject* serve_callee(PyThreadState* thread, Frame* frame, int throwflag, CalleeCaptures& callees) {
  const bool tools = cpython::tracing(thread, frame);
  const bool low = native_stack_low();
  const bool own = std::exchange(thread_context.own_frame, false);
  const bool kept = callees.keeps_from_capture(frame);
  PyObject* result = nullptr;
  if (!kept && throwflag == 0 && !tools && !low && !is_finalizer(frame) &&
      callees.serve_call(thread, frame, own, &result))
    return result;
  const bool plain = thread_context.plain;
  thread_context.plain = plain || kept;
  result = low || (tools && cpython::kToolsSeeHook) ? pass_on_without_hook(thread, frame, throwflag)
                                                    : pass_on(thread, frame, throwflag);
  thread_context.plain = plain;
  return result;
}

PyObject* take(PyThreadState* thread, Frame* frame, int throwflag);

PyObject* raise_recursion_error(PyThreadState* thread, Frame* frame, int throwflag) {
  const int remaining = std::exchange(cpython::python_recursion(thread), 0);
  PyObject* result = stator_evaluate(thread, frame, throwflag);
  cpython::python_recursion(thread) += remaining;
  return result;
}

// Only calls through C use the native stack while frames are interpreted, so where it runs low the program
// recurses through C. CPython's limit, not the stack's, is to end that: the frame goes on on a stack of its
// own.
PyObject* take_elsewhere(PyThreadState* thread, Frame* frame, int throwflag) {
  struct Arguments {
    PyThreadState* thread;
    Frame* frame;
    int throwflag;
    PyObject* result;
  } arguments{thread, frame, throwflag, nullptr};
  const auto go_on = [](void* pointer) {
    auto& given = *static_cast<Arguments*>(pointer);
    given.result = take(given.thread, given.frame, given.throwflag);
  };
  if (run_on_segment(go_on, &arguments)) return arguments.result;
  Engine::get().statistics.passed++;
  return raise_recursion_error(thread, frame, throwflag);
}

// What the thread, or the process, wants of a frame.
PyObject* take(PyThreadState* thread, Frame* frame, int throwflag) {
  ThreadContext& context = thread_context;
  Engine& engine = Engine::get();
  if (other_engine_takes_frames()) return pass_to_other_engine(thread, frame, throwflag);
  if (context.binding != nullptr && context.binding->frame == nullptr && throwflag == 0 &&
      frame->function == context.binding->function) {
    return keep_bound_frame(*context.binding, frame);
  }
  CalleeCaptures* callees = context.callees() != nullptr ? context.callees() : engine.captured_everything();
  if (callees != nullptr && context.recording == nullptr && !context.plain) {
    return serve_callee(thread, frame, throwflag, *callees);
  }
  if (context.mode() == Mode::off && !engine.everything()) {
    return native_stack_low() ? pass_on_without_hook(thread, frame, throwflag)
                              : pass_on(thread, frame, throwflag);
  }
  if (context.recording != nullptr && context.recording->capture.runs_own_code())
    return pass_on(thread, frame, throwflag);
  if (context.recording != nullptr &&
      (is_last_word(frame, throwflag, *context.recording) || is_callback(thread, *context.recording) ||
       context.recording->domain.is_kernel(frame->code))) {
    // What dies meanwhile was none of the program's: its last words are not part of the capture. Nor are
    // audit hooks, nor what a kernel does beside calling operators.
    Recording* const recording = std::exchange(context.recording, nullptr);
    const Mode mode = context.change_mode(Mode::off);
    const bool plain = std::exchange(context.plain, true);
    PyObject* result = pass_on(thread, frame, throwflag);
    context.recording = recording;
    context.change_mode(mode);
    context.plain = plain;
    return result;
  }
  if (context.recording != nullptr && is_foreign_generator(frame, *context.recording)) {
    stop_after_frame(*context.recording, BreakCode::kGenerator,
                     "one that existed before is resumed by C code");
    return pass_on(thread, frame, throwflag);
  }
  if (context.recording != nullptr && context.recording->domain.runs_plainly(frame->code))
    return stator_evaluate(thread, frame, throwflag);
  if (cpython::tracing(thread, frame)) {
    if (context.recording != nullptr)
      stop_after_frame(*context.recording, BreakCode::kOpcode, "a tool is active");
    engine.statistics.passed++;
    if constexpr (cpython::kToolsSeeHook) return pass_on_without_hook(thread, frame, throwflag);
    return pass_on(thread, frame, throwflag);
  }
  if (native_stack_low()) return take_elsewhere(thread, frame, throwflag);
  const DecodedCode* code = nullptr;
  CodeState* state = engine.code_state(frame->code);
  if (state != nullptr) {
    if (state->skip) return pass_on(thread, frame, throwflag);
    code = decoded(*state, frame->code);
  }
  if (code == nullptr) {
    if (context.recording != nullptr)
      stop_after_frame(*context.recording, BreakCode::kOpcode, "a frame that CPython runs");
    engine.statistics.passed++;
    return pass_on(thread, frame, throwflag);
  }
  if (cpython::python_recursion(thread) <= 0 || !cpython::native_recursion_left(thread)) {
    engine.statistics.passed++;
    return stator_evaluate(thread, frame, throwflag);  // raises RecursionError in CPython's own words
  }
  PyObject* result = interpret(thread, frame, throwflag != 0, *code);
  if constexpr (cpython::kToolsSeeHook) {
    // The frame may have switched a tool on or off, and CPython may run its caller.
    if (cpython::tracing(thread)) [[unlikely]] {
      engine.suspend_hook();
    } else {
      engine.resume_hook();
    }
  }
  return result;
}

}  // namespace

PyObject* evaluate_for_tools(PyThreadState* thread, Frame* frame, int throwflag) {
  if (cpython::kToolsSeeHook && cpython::tracing(thread, frame))
    return pass_on_without_hook(thread, frame, throwflag);
  return stator_evaluate(thread, frame, throwflag);
}

extern "C" PyObject* eval_hook(PyThreadState* thread, StatorFrame* frame, int throwflag) {
  if (thread_context.passes_on(reinterpret_cast<uintptr_t>(__builtin_frame_address(0))))
    return pass_on(thread, frame, throwflag);
  return take(thread, frame, throwflag);
}

extern "C" PyObject* eval_hook_for_everything(PyThreadState* thread, StatorFrame* frame, int throwflag) {
  return take(thread, frame, throwflag);
}

}  // namespace stator
