// capture/recording/instructions.h: what each instruction reads and writes, asked for before it runs.
#ifndef STATOR_CAPTURE_RECORDING_INSTRUCTIONS_H
#define STATOR_CAPTURE_RECORDING_INSTRUCTIONS_H

#include "capture/bytecode/decode.h"
#include "capture/cpython/frame.h"

namespace stator {

struct Recording;

// Guards what the instruction will read, journals what it will write, or stops the capture. False: stopped,
// an error is set.
[[nodiscard]] bool before_instruction(Recording& recording, const Instruction& instruction,
                                      cpython::Frame* frame, PyObject** sp);

}  // namespace stator

#endif
