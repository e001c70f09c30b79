// capture/recording/functions.h: Python functions that a capture enters: where they come from, and what must
// stay.
#ifndef STATOR_CAPTURE_RECORDING_FUNCTIONS_H
#define STATOR_CAPTURE_RECORDING_FUNCTIONS_H

#include "capture/recording/recording.h"

namespace stator {

// A frame of the program is about to run, from its start or from where it waited.
[[nodiscard]] bool entering(Recording& recording, cpython::Frame* frame, PyObject* first_argument);
// Before a function's frame is entered, however it was called.
[[nodiscard]] bool entering(Recording& recording, PyFunctionObject* function, PyObject* first_argument);
// A frame whose arguments were just bound: its **kwargs dictionary was made for it.
void bound(Recording& recording, cpython::Frame* frame);
// The captured function is proven on every call by what it is made of: cells and defaults need no guard.
void know_by_structure(Recording& recording, PyFunctionObject* function);
// A function that stands for one of the call's, with cells of its own.
void make_given_function(Recording& recording, PyObject* function, PyObject* real);
// Stops where it is one, or a cell of one.
[[nodiscard]] bool require_no_stand_in(Recording& recording, PyObject* object);
// Stops at a variable of the frame that the capture has taken up, which another one stands for.
[[nodiscard]] bool require_no_frame_cell(Recording& recording, PyObject* cell);
// The same; a function or cell that the program keeps.
[[nodiscard]] bool before_keeping(Recording& recording, PyObject* object);

}  // namespace stator

#endif
