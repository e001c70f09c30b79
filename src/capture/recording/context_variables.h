// capture/recording/context_variables.h: reads and writes of context variables in captured code.
#ifndef STATOR_CAPTURE_RECORDING_CONTEXT_VARIABLES_H
#define STATOR_CAPTURE_RECORDING_CONTEXT_VARIABLES_H

#include "capture/recording/recording.h"

namespace stator {

[[nodiscard]] bool before_context_read(Recording& recording, PyObject* variable);
[[nodiscard]] bool before_context_set(Recording& recording, PyObject* variable, PyObject* value);
[[nodiscard]] bool before_context_reset(Recording& recording, PyObject* variable, PyObject* token);
// `token.old_value`: what the variable held when captured code set it.
[[nodiscard]] bool read_old_value(Recording& recording, PyObject* token);

}  // namespace stator

#endif
