// capture/recording/argument_functions.h: functions and bound methods among the arguments, which programs
// make anew for every call.
#ifndef STATOR_CAPTURE_RECORDING_ARGUMENT_FUNCTIONS_H
#define STATOR_CAPTURE_RECORDING_ARGUMENT_FUNCTIONS_H

#include "capture/recording/recording.h"

namespace stator {

// A function of the same code whose defaults and cells hold what stands for those of the given one. All of
// them are read. Null: stopped, or an error is set.
Ref<> stand_for_function(Recording& recording, Argument& argument);
Ref<> stand_for_method(Recording& recording, Argument& argument);

}  // namespace stator

#endif
