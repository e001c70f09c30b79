// capture/recording/wrappers.h: callables that stand for a function, which is captured in their place.
#ifndef STATOR_CAPTURE_RECORDING_WRAPPERS_H
#define STATOR_CAPTURE_RECORDING_WRAPPERS_H

#include "capture/recording/recording.h"

namespace stator {

[[nodiscard]] bool look_through(Recording& recording, PyObject*& callable);
// Functions that are substituted for some classes of arguments: the one to call with these.
void look_at_arguments(Recording& recording, PyObject*& callable, PyObject* const* arguments,
                       Py_ssize_t count);

}  // namespace stator

#endif
