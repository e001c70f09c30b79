// capture/recording/calls.h: what a call may do is decided before it is made.
#ifndef STATOR_CAPTURE_RECORDING_CALLS_H
#define STATOR_CAPTURE_RECORDING_CALLS_H

#include "capture/recording/recording.h"

namespace stator {

[[nodiscard]] bool before_call(Recording& recording, const Instruction& instruction, cpython::Frame* frame,
                               PyObject** sp);
// of functools.lru_cache, or a method of it
bool is_cached_function(PyObject* callable);
[[nodiscard]] bool before_call_with(Recording& recording, PyObject* callable, PyObject* const* arguments,
                                    Py_ssize_t count);
[[nodiscard]] bool before_native_call(Recording& recording, PyObject* callable, PyObject* const* arguments,
                                      Py_ssize_t count);
std::string text_of_call(PyObject* callable);

}  // namespace stator

#endif
