// capture/recording/custom_gradients.h: functions of the program's that bring a gradient of their own.  Such
// a call becomes one node, which makes the very call again in every run: forward and gradient are the
// program's Python code. Here its forward is followed once, unrecorded, to learn what comes out of it. What
// it reads is guarded like everything else; it must leave nothing behind, and must not read what the program
// has written before it, since the program's writes are made when the graph has run.
#ifndef STATOR_CAPTURE_RECORDING_CUSTOM_GRADIENTS_H
#define STATOR_CAPTURE_RECORDING_CUSTOM_GRADIENTS_H

#include "capture/recording/recording.h"

namespace stator {

[[nodiscard]] bool follow_call(Recording& recording, PyObject*& callable);
bool is_followed(PyObject* callable);
// `mark`: the C function by which a region begins or ends. One that is named *_body may run otherwise than it
// is captured (a branch of torch.cond); others run once more in backward.
[[nodiscard]] bool before_region_mark(Recording& recording, PyObject* mark);
// A write to an object that was made here stays within the region that is open, or none is. What a body
// writes to older objects ends the capture.
[[nodiscard]] bool before_region_write(Recording& recording, PyObject* object);
[[nodiscard]] bool before_region_write(Recording& recording, const cpython::Frame* frame, int cell);
[[nodiscard]] bool before_followed_call(Recording& recording, PyObject* callable, PyObject* const* arguments,
                                        Py_ssize_t count);
[[nodiscard]] bool before_class_call(Recording& recording, PyObject* owner);
[[nodiscard]] bool before_followed_read(Recording& recording, PyObject* object);

}  // namespace stator

#endif
