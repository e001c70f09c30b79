// capture/recording/frame_states.cpp: looking at the frames of a capture that ends in the middle.
#include "capture/recording/frame_states.h"

#include <algorithm>
#include <optional>

#include "capture/cpython/finalizers.h"
#include "capture/engine/engine.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/recording.h"
#include "capture/recording/substitutes.h"
#include "capture/recording/unread_value.h"

namespace stator {

using cpython::Frame;

// nullptr: none. CPython writes None where one was handled.
static PyObject* handled_now() {
  PyObject* const exception = PyThreadState_Get()->exc_info->exc_value;
  return exception != Py_None ? exception : nullptr;
}

// Nothing hangs on the frame but its function, code and values.
static bool is_plain(const Frame* frame) {
  return frame->owner == STATOR_OWNED_BY_THREAD && PyFunction_Check(frame->function) &&
         (frame->code->co_flags & CO_OPTIMIZED) != 0 && frame->locals == nullptr;
}

// CPython alone can suspend a generator and end it; what runs in a capture is a copy of its frame.
static bool leaves_generator(const Frame& frame, const Instruction& instruction) {
  if (!(frame.code->co_flags & kMakesObject)) return false;
  switch (instruction.opcode) {
    case Opcode::YIELD_VALUE:
    case Opcode::ASYNC_GEN_WRAP:
    case Opcode::SEND:
    case Opcode::RETURN_VALUE:
    case Opcode::RETURN_CONST:
      return true;
    default:
      return false;
  }
}

static FrameState state_of(Frame* frame, PyObject* const* top, ptrdiff_t unit) {
  FrameState state{Ref<>::share(frame->function), Ref<PyCodeObject>::share(frame->code), unit, {}};
  for (PyObject* const* slot = frame->localsplus; slot < top; slot++)
    state.slots.push_back(Ref<>::share(*slot));
  return state;
}

static bool take_frames(Recording& recording, const Instruction& next, Frame* innermost, PyObject** sp) {
  std::vector<FrameState>& states = recording.end.frames;
  for (Frame* frame = innermost;; frame = frame->previous) {
    if (frame == nullptr || !is_plain(frame)) return false;
    const cpython::Unit* start = cpython::code_start(frame->code);
    states.push_back(frame == innermost
                         ? state_of(frame, sp, next.begin() - start)
                         : state_of(frame, frame->localsplus + frame->stacktop, frame->instruction - start));
    if (frame == recording.first_frame) break;
  }
  std::reverse(states.begin(), states.end());
  return true;
}

// A substitute is captured or not: what breaks in it is the call, which then calls the function itself.
static bool runs_in_substitute(const Recording& recording, const Frame* frame) {
  for (; frame != nullptr; frame = frame->previous) {
    if (is_substitute(frame->code)) return true;
    if (frame == recording.first_frame) return false;
  }
  return false;
}

// How the instruction asks the tensor on top of the stack, if that is all that it does with it.
static std::optional<DomainCapture::LastRead> asks_top(const Recording& recording,
                                                       const Instruction& instruction, PyObject* const* sp,
                                                       Frame* frame) {
  using LastRead = DomainCapture::LastRead;
  if (sp <= cpython::stack_base(frame) || sp[-1] == nullptr || !recording.domain.is_tensor(sp[-1])) return {};
  switch (instruction.opcode) {
    case Opcode::POP_JUMP_IF_FALSE:
    case Opcode::POP_JUMP_IF_TRUE:
    case Opcode::UNARY_NOT:
    case Opcode::TO_BOOL:
      return LastRead::truth;
    case Opcode::CALL: {
      if (instruction.argument != 1 || sp - cpython::stack_base(frame) < 3) return {};
      // Below the argument lie the callable and nothing, in the order of this Python.
      const auto* callable = sp[-3] == nullptr ? sp[-2] : sp[-2] == nullptr ? sp[-3] : nullptr;
      const auto is = [&](PyTypeObject& type) { return callable == reinterpret_cast<PyObject*>(&type); };
      if (is(PyBool_Type)) return LastRead::truth;
      return is(PyLong_Type) || is(PyFloat_Type) ? std::optional(LastRead::number) : std::nullopt;
    }
    default:
      return {};
  }
}

// At the instruction that the capture ends behind. False: it ends here.
static bool pass_end(Recording& recording, const Instruction& instruction, Frame* frame, PyObject** sp) {
  SegmentEnd& end = recording.end;
  const auto asks = asks_top(recording, instruction, sp, frame);
  if (!asks) {
    end.passed = recording.capture.expect_last_read();
    end.unit = end.now.unit;
    return end.passed || stop(recording, BreakCode::kInternal, "the backend takes no values");
  }
  Ref<> answer = recording.capture.last_read(sp[-1], *asks);
  end.frames.clear();
  if (!answer || !take_frames(recording, instruction, frame, sp))
    return stop(recording, BreakCode::kUnguardable, "the frames at the break cannot be made again");
  end.frames.back().slots.back() = std::move(answer);
  end.behind = false;
  end.reached = true;
  return stop(recording, BreakCode::kInternal, "the end of a segment");
}

bool leave_handler(Recording& recording, PyObject*& previous) {
  SegmentEnd& end = recording.end;
  PyObject* const ended = handled_now();
  const Argument* const argument = argument_of(previous);
  if (ended == nullptr || ended != end.handled || argument == nullptr || end.handled_behind)
    return stop(recording, BreakCode::kException, "a handler ends that is not the one the capture began in");
  if (cpython::dies_aloud(ended, Py_REFCNT(ended)))
    return stop(recording, BreakCode::kFinalizer, "an exception dies, and what only it holds");
  end.handled_behind = Ref<>::share(previous);
  Py_SETREF(previous, Py_NewRef(argument->real));
  end.handled = previous != Py_None ? previous : nullptr;
  return true;
}

bool handles_own_exception(const Recording& recording) {
  PyObject* const now = handled_now();
  return now == nullptr ? !recording.handles_at_entry : now != recording.end.handled;
}

bool note_place(Recording& recording, const Instruction& instruction, Frame* frame, PyObject** sp) {
  SegmentEnd& end = recording.end;
  if (end.evaluators == 0) {
    end.evaluators = thread_context.evaluators;
    end.handled = handled_now();
  }
  // What happens in a handler belongs to the instruction that raised: the exception is no value of a segment.
  const bool begins_handler = instruction.opcode == Opcode::PUSH_EXC_INFO ||
                              (instruction.opcode == Opcode::RERAISE && !is_unread_exception(sp[-1]));
  if (end.passed && thread_context.evaluators == end.evaluators && begins_handler)
    return stop(recording, BreakCode::kException, "the instruction at the end of a segment raises");
  const bool leaves =
      recording.takes_up_frame && frame == recording.first_frame && leaves_generator(*frame, instruction);
  const auto go_on = [&] {
    return !leaves || stop(recording, BreakCode::kGenerator, "a generator gives a value to its consumer");
  };
  if (thread_context.evaluators != end.evaluators || begins_handler || handled_now() != end.handled)
    return go_on();
  if (frame != end.looked_at) {
    end.looked_at = frame;
    end.in_substitute = runs_in_substitute(recording, frame);
  }
  if (end.in_substitute) return true;
  end.now.number = recording.instructions;
  if (end.now.code.get() != frame->code) end.now.code = Ref<PyCodeObject>::share(frame->code);
  end.now.unit = instruction.begin() - cpython::code_start(frame->code);
  const bool returns =
      instruction.opcode == Opcode::RETURN_VALUE || instruction.opcode == Opcode::RETURN_CONST;
  if (recording.takes_up_frame && returns && frame == recording.first_frame)
    end.frames.assign(1, state_of(frame, sp, end.now.unit));  // what the frame still holds
  if (recording.instructions != end.number && !end.passed) return go_on();
  const bool is_behind = end.behind && end.passed;
  if (end.behind && !is_behind) {
    if (recording.cached.kept.empty()) return pass_end(recording, instruction, frame, sp);
    return stop(recording, BreakCode::kUnguardable, "the frames at the break cannot be made again");
  }
  if (is_behind && !recording.capture.has_last_read())
    return stop(recording, BreakCode::kInternal, "the second run took another way");
  end.frames.clear();
  if (!recording.cached.kept.empty() || !take_frames(recording, instruction, frame, sp))
    return stop(recording, BreakCode::kUnguardable, "the frames at the break cannot be made again");
  end.reached = true;
  return stop(recording, BreakCode::kInternal, "the end of a segment");
}

}  // namespace stator
