// capture/interpreter/run.cpp: the loop: dispatch, frames pushed and left, errors unwound. Handlers stand in
// opcodes/*.inc.
#include <cxxabi.h>
#include <unistd.h>

#include <new>
#include <vector>

#include "capture/cpython/dict_version.h"
#include "capture/cpython/error_scope.h"
#include "capture/cpython/exported.h"
#include "capture/cpython/number.h"
#include "capture/cpython/ref.h"
#include "capture/cpython/traits.h"
#include "capture/engine/evaluators.h"
#include "capture/interpreter/builders.h"
#include "capture/interpreter/calls.h"
#include "capture/interpreter/errors.h"
#include "capture/interpreter/frame_segments.h"
#include "capture/interpreter/gadget.h"
#include "capture/interpreter/interpreter.h"
#include "capture/interpreter/names.h"
#include "capture/interpreter/operators.h"
#include "capture/interpreter/recorder.h"
#include "capture/interpreter/specialised.h"
#include "capture/interpreter/statements.h"

namespace stator {

using cpython::Frame;
using cpython::Unit;

namespace {

// The interpreter's ways of running: what each instruction pays for beyond its own work is decided at compile
// time.
struct Concrete {
  static constexpr bool kCountsInstructions = false;
  static constexpr bool kCaptures = false;
  static constexpr bool kServesSegments = false;
  struct Budgets {
    static void keep(int) {}
    static int take() { return -1; }
  };
};
struct Counted {
  static constexpr bool kCountsInstructions = true;
  static constexpr bool kCaptures = false;
  static constexpr bool kServesSegments = false;
  // What callers may still execute themselves while frames that they entered run.
  class Budgets {
   public:
    void keep(int budget) {
      try {
        kept_.push_back(budget);
      } catch (const std::bad_alloc&) {
        lost_++;
      }
    }
    int take() {
      if (lost_ > 0) {
        lost_--;
        return -1;
      }
      const int budget = kept_.back();
      kept_.pop_back();
      return budget;
    }

   private:
    std::vector<int> kept_;
    int lost_ = 0;
  };
};
struct Capturing : Concrete {
  static constexpr bool kCaptures = true;
};
// Natively where captures break, and by segments otherwise.
struct Segmented : Concrete {
  static constexpr bool kServesSegments = true;
};

// Calls and generators that are entered in the loop itself, where nobody asks for them one by one.
template <class How>
inline constexpr bool kResumesGenerators =
    cpython::kResumesInLoop && !How::kCaptures && !How::kServesSegments;

// Frames that lie in calls of each other, and what serves them.
struct SegmentedFrames {
  const std::vector<Frame*>& frames;
  FrameSegments& segments;
  bool at_once;  // one may serve the innermost frame where it stands
};

// Leaves a frame to CPython's evaluator, which continues it from where it goes on. The frame is linked and
// counted; both are undone first, as the evaluator does them itself.
PyObject* leave_to_cpython(PyThreadState* thread, Frame* frame) {
  cpython::unlink(thread, frame);
  cpython::python_recursion(thread)++;
  cpython::leave_native(thread);
  PyObject* result = evaluate_for_tools(thread, frame, 0);
  cpython::enter_native(thread);
  return result;
}

// The exception that a frame handles, or the one that called it.
[[maybe_unused]] const PyObject* handled_now(const PyThreadState* thread) {
  const PyObject* const exception = thread->exc_info->exc_value;
  return exception != Py_None ? exception : nullptr;
}

// nullptr where there is none, also once the frame has put it into a cell.
PyObject* first_argument(Frame* frame) {
  if (frame->code->co_argcount > 0) return frame->localsplus[0];
  if (!(frame->code->co_flags & CO_VARARGS)) return nullptr;
  PyObject* rest = frame->localsplus[frame->code->co_kwonlyargcount];
  return rest != nullptr && PyTuple_CheckExact(rest) && PyTuple_GET_SIZE(rest) > 0 ? PyTuple_GET_ITEM(rest, 0)
                                                                                   : nullptr;
}

// Signals, pending calls, and other threads that want the GIL. The code of handlers is no part of a capture
// and must not be lost with it: a capture lets other threads wait, and ends where anything else does.
template <class How>
bool attend(PyThreadState* thread, [[maybe_unused]] cpython::EvalBreaker breaker) {
  if constexpr (How::kCaptures) {
    if (!stator_wants_more_than_gil(thread)) return true;
    recorder::stop(*thread_context.recording, BreakCode::kAsynchronousEvent);
    return false;
  }
  return give_attention(thread);
}

template <class How>
PyObject* run(PyThreadState* thread, Frame* const entry, bool raise_at_entry, const DecodedCode* code,
              [[maybe_unused]] const SegmentedFrames* segmented = nullptr) {
  static const void* const labels[] = {
#define OP(name, ...) &&handle_##name,
#include "capture/bytecode/opcodes.def"
#undef OP
      &&handle_UNKNOWN, &&handle_UNKNOWN, &&handle_UNKNOWN, &&handle_UNKNOWN};

  Statistics& statistics = Engine::get().statistics;
  const cpython::EvalBreaker breaker = cpython::eval_breaker(thread);
  const StatorEvaluator* const evaluator = stator_evaluator_slot(thread->interp);
  Frame* frame = entry;
  PyObject** fast;
  PyObject** sp;
  const Instruction* ip;
  PyObject* result = nullptr;    // of the frame that is being left
  Frame* callee = nullptr;       // bound, about to be entered
  Frame* caller = nullptr;       // of the frame that is being left
  PyObject* keywords = nullptr;  // names of a call's keyword arguments
  Ref<> kept;                    // of a call in progress; empty between instructions
  bool from_callee = false;      // the current error came out of a frame that this one called
  HandOver reason = HandOver::tools;
  [[maybe_unused]] Recording* const recording = thread_context.recording;
  int budget = thread_context.instruction_limit;
  [[maybe_unused]] typename How::Budgets budgets;
  [[maybe_unused]] bool look = false;  // a segment may begin here
  [[maybe_unused]] std::vector<Frame*> inner;
  [[maybe_unused]] const PyObject* const handled = handled_now(thread);  // by the caller

  thread_context.evaluators++;
  statistics.frames++;
  cpython::python_recursion(thread)--;
  cpython::enter_native(thread);
  cpython::link(thread, frame);
  if constexpr (How::kServesSegments) {
    look = segmented->at_once;
    for (size_t i = 1; i < segmented->frames.size(); i++) {
      frame = segmented->frames[i];
      statistics.frames++;
      cpython::python_recursion(thread)--;
      cpython::link(thread, frame);
    }
  }

// --- the vocabulary of the handlers
// ---------------------------------------------------------------------------------
#define HANDLE(name) handle_##name:
#define ARG (ip->argument)
#define NAME(index) PyTuple_GET_ITEM(frame->code->co_names, index)
#define PUSH(value)                         \
  do {                                      \
    PyObject* const pushed_value = (value); \
    *sp++ = pushed_value;                   \
  } while (0)
#define POP() (*--sp)
#define TOP(n) (sp[-(n)])
#define DISPATCH()                                                                             \
  do {                                                                                         \
    if constexpr (How::kCountsInstructions) {                                                  \
      if (budget >= 0 && budget-- == 0) goto hand_over_at_limit;                               \
    }                                                                                          \
    cpython::stand_on(frame, ip->at);                                                          \
    if constexpr (How::kCaptures) {                                                            \
      if (recorder::before_instruction(*recording, *ip, frame, sp) != Outcome::ok) goto error; \
    }                                                                                          \
    if constexpr (How::kServesSegments) {                                                      \
      if (look) goto look_for_segment;                                                         \
      look = code->is_break(ip);                                                               \
    }                                                                                          \
    goto* labels[static_cast<int>(ip->opcode)];                                                \
  } while (0)
#define NEXT()  \
  do {          \
    ip++;       \
    DISPATCH(); \
  } while (0)
// After an instruction that may have run any code: a tool may be on now.
#define NEXT_AFTER_CALL()                             \
  do {                                                \
    ip++;                                             \
    if (cpython::tracing(thread, frame)) [[unlikely]] \
      goto hand_over_to_tools;                        \
    DISPATCH();                                       \
  } while (0)
#define NEXT_AFTER_CALL_AND_ATTENTION()                                   \
  do {                                                                    \
    if (cpython::wants_attention(breaker)) [[unlikely]] {                 \
      if (!attend<How>(thread, breaker)) goto error;                      \
    }                                                                     \
    if (!is_own_hook(*evaluator) && *evaluator != nullptr) [[unlikely]] { \
      ip++;                                                               \
      goto hand_over_to_tools; /* another library's hook */               \
    }                                                                     \
    NEXT_AFTER_CALL();                                                    \
  } while (0)
#define JUMP(index)                           \
  do {                                        \
    ip = code->instructions.data() + (index); \
    DISPATCH();                               \
  } while (0)
// Replaces `n` operands by one result, or fails.
#define REPLACE(n, value)                    \
  do {                                       \
    PyObject* const made = (value);          \
    if (made == nullptr) goto error;         \
    for (int left = (n); left > 0; left--) { \
      PyObject* const used = POP();          \
      Py_DECREF(used);                       \
    }                                        \
    PUSH(made);                              \
  } while (0)

enter_frame:
  cpython::take_init_mark(frame);  // a generator's frame comes as CPython left it
  fast = frame->localsplus;
  sp = cpython::take_stack(frame);
  if (frame == entry && raise_at_entry) {
    ip = code->at_unit(cpython::raise_unit(frame));
    goto error;
  }
  ip = code->at_unit(cpython::next_unit(frame));
  if constexpr (How::kCaptures) {
    if (recorder::enter(*recording, frame, first_argument(frame), ip == code->instructions.data(),
                        cpython::python_recursion(thread)) != Outcome::ok)
      goto error;
  }
  if constexpr (How::kCountsInstructions) budget = thread_context.instruction_limit;
  DISPATCH();

#include "capture/interpreter/opcodes/attributes.inc"
#include "capture/interpreter/opcodes/build.inc"
#include "capture/interpreter/opcodes/calls.inc"
#include "capture/interpreter/opcodes/exceptions.inc"
#include "capture/interpreter/opcodes/generators.inc"
#include "capture/interpreter/opcodes/imports.inc"
#include "capture/interpreter/opcodes/jumps.inc"
#include "capture/interpreter/opcodes/match.inc"
#include "capture/interpreter/opcodes/names.inc"
#include "capture/interpreter/opcodes/operators.inc"
#include "capture/interpreter/opcodes/stack.inc"

  HANDLE(UNKNOWN) goto hand_over_opcode;

// --- errors
// ---------------------------------------------------------------------------------------------------------
error:
  if (!PyErr_Occurred()) PyErr_SetString(PyExc_SystemError, "error return without exception set");
  if constexpr (How::kCaptures) {
    const bool by_program = (frame == entry && raise_at_entry) || ip->opcode == Opcode::RAISE_VARARGS ||
                            ip->opcode == Opcode::RERAISE;
    recorder::note_error(*recording, by_program);
  }
  add_traceback(thread, frame);
  // The failed call switched a tool on: it is told here, as raising in CPython's evaluator would also report
  // a call.
  if (cpython::tracing(thread, frame)) [[unlikely]] {
    stator_report_error(thread, frame, cpython::reported_unit(ip->at, ip[1].begin(), from_callee));
  }
unwind : {
  const Handler* handler = code->handler_at(ip->at);
  if constexpr (How::kCaptures) {
    if (recorder::has_stopped(*recording))
      handler = nullptr;  // not the program's exception: no handler of it sees it
  }
  raise_at_entry = false;
  if (handler == nullptr) goto leave_by_error;
  PyObject** const base = cpython::stack_base(frame) + handler->depth;
  while (sp > base) {
    PyObject* const dropped = POP();
    Py_XDECREF(dropped);
  }
  if (handler->push_lasti) {
    PyObject* const lasti = PyLong_FromSsize_t(frame->instruction - code->start);
    if (lasti == nullptr) goto error;
    PUSH(lasti);
  }
  from_callee = false;
  if constexpr (How::kServesSegments) look = false;
  if (cpython::tracing(thread, frame)) [[unlikely]]
    stator_report_handled(thread, frame, code->start + handler->target);
  PUSH(stator_take_error());
  ip = code->at_unit(code->start + handler->target);
  if (cpython::tracing(thread, frame)) [[unlikely]]
    goto hand_over_to_tools;
  DISPATCH();
}

leave_by_error:
  while (sp > cpython::stack_base(frame)) {
    PyObject* const dropped = POP();
    Py_XDECREF(dropped);
  }
  if (cpython::tracing(thread, frame)) [[unlikely]] {
    stator_report_unwind(thread, frame, cpython::reported_unit(ip->at, ip[1].begin(), from_callee));
  }
  result = nullptr;
  goto end_frame;

// --- leaving a frame
// ------------------------------------------------------------------------------------------------
end_frame : {
  // The frame's stack is empty; `result` is its value, or nullptr with an error set.
  if constexpr (How::kCaptures) {
    if (frame == entry && result != nullptr &&
        recorder::before_giving(*recording, frame, result) != Outcome::ok)
      Py_CLEAR(result);
  }
  statistics.finished++;
  cpython::give_stack(frame, sp);
  caller = frame->previous;
  cpython::unlink(thread, frame);
  cpython::python_recursion(thread)++;
  if (frame == entry) {
    if constexpr (cpython::kEvaluatorClearsFrame) stator_clear_frame(thread, frame);
    goto leave;
  }
  stator_clear_frame(thread, frame);
  frame = caller;
  goto back_in_caller;
}

back_in_caller:
  // `frame` stands on the call whose callee has left `result`.
  code = Engine::get().code_state(frame->code)->decoded.get();
  fast = frame->localsplus;
  sp = cpython::take_stack(frame);
  ip = cpython::kCallerStandsOnLastUnit ? code->ending_at(frame->instruction)
                                        : code->at_unit(frame->instruction);
  if constexpr (How::kCountsInstructions) budget = budgets.take();
  if (cpython::take_init_mark(frame)) goto back_from_init;
  from_callee = result == nullptr;
  if (from_callee) goto error;
  if constexpr (How::kServesSegments) look = true;
  if constexpr (kResumesGenerators<How>) {
    if (ip->opcode == Opcode::FOR_ITER || ip->opcode == Opcode::SEND) goto back_from_generator;
  }
  PUSH(result);
  NEXT_AFTER_CALL();

  [[maybe_unused]] look_for_segment : look = false;
  if constexpr (How::kServesSegments) {
    cpython::give_stack(frame, sp);
    inner.clear();
    const FrameSegments::Answer answer = segmented->segments.serve(thread, frame, *ip, &result, inner);
    sp = cpython::take_stack(frame);
    switch (answer) {
      case FrameSegments::Answer::none:
        break;
      case FrameSegments::Answer::given_up:
        goto hand_over;
      case FrameSegments::Answer::returned:
        if (result == nullptr) {                            // its traceback is there
          if (handled_now(thread) != handled) goto unwind;  // a handler of the frame's has to end
          goto leave_by_error;
        }
        while (sp > cpython::stack_base(frame)) {
          PyObject* const dropped = POP();
          Py_XDECREF(dropped);
        }
        goto end_frame;
      case FrameSegments::Answer::moved_on:
        look = true;
        goto enter_moved;
      case FrameSegments::Answer::moved:
        goto enter_moved;
    }
    look = code->is_break(ip);
  }
  goto* labels[static_cast<int>(ip->opcode)];

  [[maybe_unused]] enter_moved : if constexpr (How::kServesSegments) {
    for (Frame* const next : inner) {
      cpython::give_stack(frame, sp);
      statistics.frames++;
      cpython::python_recursion(thread)--;
      cpython::link(thread, next);
      frame = next;
      sp = cpython::take_stack(frame);
    }
    fast = frame->localsplus;
    code = Engine::get().code_state(frame->code)->decoded.get();
    ip = code->at_unit(cpython::next_unit(frame));
    if (cpython::tracing(thread, frame)) [[unlikely]]
      goto hand_over_to_tools;
    // Segments that follow each other may be a loop without a native instruction.
    if (look && cpython::wants_attention(breaker)) [[unlikely]] {
      cpython::stand_on(frame, ip->at);
      if (!attend<How>(thread, breaker)) goto error;
    }
  }
  DISPATCH();

hand_over_opcode:
  statistics.by_opcode[static_cast<size_t>(ip->opcode)]++;
  goto hand_over;
hand_over_to_tools:
  reason = HandOver::tools;
  goto hand_over_for_reason;
  [[maybe_unused]] hand_over_at_limit : reason = HandOver::limit;
  goto hand_over_for_reason;
hand_over_for_reason:
  statistics.by_reason[static_cast<size_t>(reason)]++;
hand_over:
  if constexpr (How::kCaptures) {
    recorder::stop(*recording, BreakCode::kOpcode, "the frame was handed over");
    goto error;
  }
  // CPython takes the frame at this instruction and runs it to its end.
  statistics.handed_over++;
  goto continue_in_cpython;
hand_over_to_end:
  // The instruction ends the frame, and only CPython can do that.
  statistics.finished++;
continue_in_cpython : {
  if constexpr (How::kCaptures) {
    if (frame == entry && ip->opcode == Opcode::YIELD_VALUE &&
        recorder::before_giving(*recording, frame, TOP(1)) != Outcome::ok)
      goto error;
  }
  cpython::give_stack(frame, sp);
  cpython::go_on_at(frame, ip->begin());
  caller = frame->previous;
  result = leave_to_cpython(thread, frame);
  if constexpr (How::kCaptures) {
    // One that C code asked for, to resume it later, comes back through no instruction.
    if (ip->opcode == Opcode::RETURN_GENERATOR && result != nullptr) recorder::made(*recording, result);
  }
  if (frame == entry) goto leave;
  if constexpr (!cpython::kEvaluatorClearsFrame) stator_clear_frame(thread, frame);
  frame = caller;
  goto back_in_caller;
}

leave:
  thread_context.evaluators--;
  cpython::leave_native(thread);
  return result;
}

}  // namespace

const DecodedCode* decoded(CodeState& state, PyCodeObject* code) noexcept {
  if (state.decoded == nullptr && !state.undecodable) {
    try {
      state.decoded = DecodedCode::decode(code);
    } catch (...) {  // no memory: CPython runs the frame
    }
    state.undecodable = state.decoded == nullptr;
  }
  return state.decoded.get();
}

// CPython is gone and ends this thread by unwinding its native stack, without the GIL: nothing may be
// released any more. The thread waits for the end of the process, as CPython itself lets it from 3.14 on.
[[noreturn]] static void wait_for_exit() {
  for (;;) pause();
}

PyObject* interpret_segments(PyThreadState* thread, const std::vector<Frame*>& frames,
                             FrameSegments& segments, bool at_once) noexcept {
  const SegmentedFrames segmented{frames, segments, at_once};
  const DecodedCode* code = Engine::get().code_state(frames.back()->code)->decoded.get();
  try {
    return run<Segmented>(thread, frames.front(), false, code, &segmented);
  } catch (const abi::__forced_unwind&) {
    wait_for_exit();
  }
}

PyObject* interpret(PyThreadState* thread, Frame* frame, bool raise, const DecodedCode& code) noexcept {
  try {
    if (thread_context.recording != nullptr) return run<Capturing>(thread, frame, raise, &code);
    return thread_context.instruction_limit >= 0 ? run<Counted>(thread, frame, raise, &code)
                                                 : run<Concrete>(thread, frame, raise, &code);
  } catch (const abi::__forced_unwind&) {
    wait_for_exit();
  }
}

}  // namespace stator
