// capture/recording/argument_operands.h: which instructions read the arguments that they are given, and which
// only move them.
#ifndef STATOR_CAPTURE_RECORDING_ARGUMENT_OPERANDS_H
#define STATOR_CAPTURE_RECORDING_ARGUMENT_OPERANDS_H

#include "capture/recording/recording.h"

namespace stator {

// What an instruction looks at is read before it runs. False: stopped, or an error is set.
[[nodiscard]] bool read_operands(Recording& recording, const Instruction& instruction, cpython::Frame* frame,
                                 PyObject** sp);
// The arguments of a call, in place: Python code is handed them unread, C code is not.
[[nodiscard]] bool read_call_operands(Recording& recording, PyObject* callable, PyObject** arguments,
                                      PyObject** end);
// The same for the instruction of a call.
[[nodiscard]] bool read_before_call(Recording& recording, const Instruction& instruction,
                                    cpython::Frame* frame, PyObject** sp);
// Unread values reach Python code only: what this callable does first is to bind them to names.
bool hands_to_python(PyObject* callable);

}  // namespace stator

#endif
