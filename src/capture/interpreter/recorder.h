// capture/interpreter/recorder.h: what a capture does while the interpreter runs, as the loop sees it.
//
// The loop asks before each instruction, and tells of frames and errors. The answers are given by
// capture/recording/recorder.cpp: the loop knows nothing of what a capture holds.
#ifndef STATOR_CAPTURE_INTERPRETER_RECORDER_H
#define STATOR_CAPTURE_INTERPRETER_RECORDER_H

#include "capture/bytecode/decode.h"
#include "capture/cpython/frame.h"
#include "capture/interpreter/outcome.h"
#include "core/break.h"

namespace stator {
struct Recording;
}

namespace stator::recorder {

// A frame is about to run, from its start or from where it waited. `levels_left`: of recursion.
Outcome enter(Recording& recording, cpython::Frame* frame, PyObject* first_argument, bool at_start,
              int levels_left);
// Guards what the instruction will read, journals what it will write, or stops the capture.
Outcome before_instruction(Recording& recording, const Instruction& instruction, cpython::Frame* frame,
                           PyObject** sp);
// The outermost frame of this loop gives a value to whoever called it: C code, or nobody in the capture.
Outcome before_giving(Recording& recording, const cpython::Frame* frame, PyObject* value);
// An error was raised: the program's, or the way in which somebody says that the capture cannot go on.
void note_error(Recording& recording, bool by_program);
// The error that is unwound is not the program's.
bool has_stopped(const Recording& recording);
// Ends the capture: an error is set.
void stop(Recording& recording, BreakCode code, const char* detail = "");
// The object was made by the program, though no instruction gives it.
void made(Recording& recording, PyObject* object);

}  // namespace stator::recorder

#endif
