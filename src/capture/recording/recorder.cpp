// capture/recording/recorder.cpp: what the interpreter's loop asks of a capture.
#include "capture/interpreter/recorder.h"

#include <algorithm>

#include "capture/recording/capture_stop.h"
#include "capture/recording/functions.h"
#include "capture/recording/instructions.h"
#include "capture/recording/known_objects.h"
#include "capture/recording/native_callbacks.h"
#include "capture/recording/recording.h"

namespace stator::recorder {
namespace {

Outcome outcome(const Recording& recording, bool done) {
  if (done) return Outcome::ok;
  return recording.stopped.happened() ? Outcome::stopped : Outcome::raised;
}

}  // namespace

Outcome enter(Recording& recording, cpython::Frame* frame, PyObject* first_argument, bool at_start,
              int levels_left) {
  recording.fewest_levels = std::min(recording.fewest_levels, levels_left);
  const bool entered = entering(recording, frame, first_argument);
  if (entered && at_start) bound(recording, frame);
  return outcome(recording, entered);
}

Outcome before_instruction(Recording& recording, const Instruction& instruction, cpython::Frame* frame,
                           PyObject** sp) {
  return outcome(recording, stator::before_instruction(recording, instruction, frame, sp));
}

Outcome before_giving(Recording& recording, const cpython::Frame* frame, PyObject* value) {
  if (frame == recording.first_frame) return Outcome::ok;
  return outcome(recording, stator::before_giving(recording, frame, value));
}

void note_error(Recording& recording, bool by_program) { stator::note_error(recording, by_program); }

bool has_stopped(const Recording& recording) { return recording.stopped.happened(); }

void stop(Recording& recording, BreakCode code, const char* detail) { stator::stop(recording, code, detail); }

void made(Recording& recording, PyObject* object) { make_fresh(recording, object); }

}  // namespace stator::recorder
