// capture/recording/results.h: what instructions and calls left on the stack, looked at before the next one.
#ifndef STATOR_CAPTURE_RECORDING_RESULTS_H
#define STATOR_CAPTURE_RECORDING_RESULTS_H

#include "capture/cpython/frame.h"
#include "capture/cpython/ref.h"

namespace stator {

struct Recording;

// A frame that stands on an instruction whose result, made natively, is still to come.
struct PendingResult {
  enum Kind : uint8_t {
    plain,
    made,   // C code makes the result now, whoever else holds it
    cached  // a cache holds it
  };
  cpython::Frame* frame;
  Kind kind;
  Ref<> instead;  // what captured code is to see, if it is something else
  int depth = 1;  // where it lies, counted from the top of the stack
};

void expect_result(Recording& recording, PendingResult::Kind kind = PendingResult::plain);
void note_result(Recording& recording, PyObject* result, bool made = false);
// False: stopped.
bool take_pending(Recording& recording, PyObject** sp);

}  // namespace stator

#endif
