// capture/recording/capture_stop.cpp: why a capture could not go on, and where.
#include "capture/recording/capture_stop.h"

#include "capture/cpython/interrupts.h"
#include "capture/recording/break_exception.h"
#include "capture/recording/context_managers.h"
#include "capture/recording/paused_capture.h"
#include "capture/recording/recording.h"

namespace stator {

StopPolicy stop_policy;

bool stop(Recording& recording, BreakCode code, std::string detail) {
  if (!recording.stopped.happened()) {
    const Break* why = recording.capture.broken();  // the domain knew it before
    recording.stopped.code = why != nullptr ? why->code : code;
    recording.stopped.is_error = stop_policy.is_error != nullptr && stop_policy.is_error();
    recording.stopped.detail = std::move(detail);
    if (why != nullptr) recording.stopped.detail = why->detail;
    const LineId line = recording.stack.line();
    recording.stack.place();
    recording.stopped.stack = frames_of(*recording.stack.lines(), line);
  }
  if (!PyErr_Occurred()) PyErr_SetString(break_exception(), reason(*recording.stopped.code).code);
  return false;
}

void stop_after_frame(Recording& recording, BreakCode code, std::string detail) {
  const bool raised = PyErr_Occurred() != nullptr;
  stop(recording, code, std::move(detail));
  if (!raised) drop_error();
}

// The error that is set becomes that of the stop.
static void stop_for_interrupt(Recording& recording, bool by_program) {
  if (by_program)
    drop_even_interrupts();
  else
    drop_error();
  stop(recording, by_program ? BreakCode::kException : BreakCode::kAsynchronousEvent,
       by_program ? "the function raises what ends a program" : "");
}

void note_error(Recording& recording, bool by_program) {
  if (recording.pause) {
    recording.pause.reset();
    stop(recording, BreakCode::kException, "a function that is not captured raises");
    if (is_interrupted()) stop_for_interrupt(recording, by_program);
    return;
  }
  if (!recording.stopped.happened()) recording.end.raised = recording.end.now;
  if (is_interrupted()) return stop_for_interrupt(recording, by_program);
  if (recording.stopped.happened()) return;
  if (const Break* why = recording.capture.broken()) {
    stop(recording, why->code, why->detail);
    return;
  }
  note_raised(recording);
}

}  // namespace stator
