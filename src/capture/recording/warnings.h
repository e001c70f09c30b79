// capture/recording/warnings.h: warnings that a filter ignores.  One that is shown is output, and so is one
// that is shown once: whether it was shown already is asked with a count of filter changes that C code keeps
// to itself.
#ifndef STATOR_CAPTURE_RECORDING_WARNINGS_H
#define STATOR_CAPTURE_RECORDING_WARNINGS_H

#include "capture/recording/recording.h"

namespace stator {

[[nodiscard]] bool before_warning(Recording& recording, const std::vector<PyObject*>& arguments);

}  // namespace stator

#endif
