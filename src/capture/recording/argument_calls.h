// capture/recording/argument_calls.h: C functions that see less of an argument than all it holds.
#ifndef STATOR_CAPTURE_RECORDING_ARGUMENT_CALLS_H
#define STATOR_CAPTURE_RECORDING_ARGUMENT_CALLS_H

#include <optional>
#include <vector>

#include "capture/recording/recording.h"

namespace stator {

// Nothing: it is no such function, or its first argument stands for none of the call's.
std::optional<bool> before_argument_call(Recording& recording, PyObject* function,
                                         const std::vector<PyObject*>& all);

}  // namespace stator

#endif
