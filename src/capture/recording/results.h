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
    made,    // C code makes the result now, whoever else holds it
    cached,  // a cache holds it
    shown    // by a tracer: an object (the node of its history) that no other run has
  };
  cpython::Frame* frame;
  Kind kind;
  Ref<> instead;  // what captured code is to see, if it is something else
  int depth = 1;  // where it lies, counted from the top of the stack
  Ref<> giver;    // an iterator of a kind that makes tuples, and may hold the last one as well
};

void expect_result(Recording& recording, PendingResult::Kind kind = PendingResult::plain);
// The result will be a tuple that this iterator makes, unless it has none left.
void expect_tuple_of(Recording& recording, PyObject* iterator);
// A tuple that an iterator made here has given, and holds to fill it again once nobody else does.
bool is_kept_by_iterator(const Recording& recording, PyObject* tuple);
void note_result(Recording& recording, PyObject* result, bool made = false);
// False: stopped.
[[nodiscard]] bool take_pending(Recording& recording, PyObject** sp);

}  // namespace stator

#endif
