// capture/recording/table_calls.h: calls of C functions that have a row in the tables of policy/.
#ifndef STATOR_CAPTURE_RECORDING_TABLE_CALLS_H
#define STATOR_CAPTURE_RECORDING_TABLE_CALLS_H

#include "capture/policy/native_table.h"
#include "capture/recording/recording.h"

namespace stator {

// `self` is what `function` is bound to, or nullptr.
[[nodiscard]] bool before_table_call(Recording& recording, const NativeCall& known, PyObject* function,
                                     PyObject* self, PyObject* const* arguments, Py_ssize_t count);

}  // namespace stator

#endif
