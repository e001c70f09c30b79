// capture/recording/single_dispatch.h: functools.singledispatch finds a function by the class of an argument.
// Its `dispatch` keeps what it found in a dictionary of weak keys, which a capture can neither guard nor
// write. So captured code looks into the registry itself, as `dispatch` does for a class that is new to it:
// what decides is then guarded as anywhere, and a function that is registered later is noticed.
#ifndef STATOR_CAPTURE_RECORDING_SINGLE_DISPATCH_H
#define STATOR_CAPTURE_RECORDING_SINGLE_DISPATCH_H

#include "capture/recording/recording.h"

namespace stator {

// of functools.singledispatch
[[nodiscard]] bool look_through_dispatch(Recording& recording, PyObject*& callable);

}  // namespace stator

#endif
