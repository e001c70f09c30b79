// capture/recording/late_calls.h: calls that captured code asks for and that every run makes when its graph
// has run: what they leave behind is seen by code behind the captured call alone.
//
// To the journal they are a slot of an object of ours, which holds the list of calls that were asked for.
// What is written there is made again on every call, as any write, and writing makes the calls.
#ifndef STATOR_CAPTURE_RECORDING_LATE_CALLS_H
#define STATOR_CAPTURE_RECORDING_LATE_CALLS_H

#include "capture/cpython/python.h"

namespace stator {

struct Recording;

// `stator._capture.call_later(function, *arguments)`, for functions that stand in the place of others
// (substitutes.h). Called by code that is not captured, it makes the call at once. False with an error set.
bool add_late_calls(PyObject* module);
bool is_late_call(PyObject* callable);
// False: stopped, or an error is set.
[[nodiscard]] bool before_late_call(Recording& recording, PyObject* const* arguments, Py_ssize_t count);

}  // namespace stator

#endif
