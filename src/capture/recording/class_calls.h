// capture/recording/class_calls.h: a class is called: who makes its instances, and what is known of them.
#ifndef STATOR_CAPTURE_RECORDING_CLASS_CALLS_H
#define STATOR_CAPTURE_RECORDING_CLASS_CALLS_H

#include "capture/recording/recording.h"

namespace stator {

[[nodiscard]] bool before_class_call(Recording& recording, PyTypeObject* type, PyObject* const* arguments,
                                     Py_ssize_t count);

}  // namespace stator

#endif
