// capture/recording/context_managers.h: context managers of C code: what their methods may do is asked before
// they are entered, locks among them; exceptions that C code makes.
#ifndef STATOR_CAPTURE_RECORDING_CONTEXT_MANAGERS_H
#define STATOR_CAPTURE_RECORDING_CONTEXT_MANAGERS_H

#include "capture/policy/native_table.h"
#include "capture/recording/recording.h"

namespace stator {

void note_raised(Recording& recording);
[[nodiscard]] bool before_with(Recording& recording, PyObject* manager);
[[nodiscard]] bool before_lock(Recording& recording, NativeEffect effect, PyObject* lock);
[[nodiscard]] bool read_handled_exception(Recording& recording);

}  // namespace stator

#endif
