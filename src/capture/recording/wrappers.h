// capture/recording/wrappers.h: callables that stand for a function, which is captured in their place.
#ifndef STATOR_CAPTURE_RECORDING_WRAPPERS_H
#define STATOR_CAPTURE_RECORDING_WRAPPERS_H

#include "capture/recording/recording.h"

namespace stator {

bool look_through(Recording& recording, PyObject*& callable);

}  // namespace stator

#endif
