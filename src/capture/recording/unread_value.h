// capture/recording/unread_value.h: what stands for a part of the arguments that nobody has read.
//
// Instructions that only move values move it too. Before any other instruction, what stands for the part
// takes its place (argument_operands.h). C code that looks at one all the same ends the capture: no read of
// an argument can go unnoticed.
#ifndef STATOR_CAPTURE_RECORDING_UNREAD_VALUE_H
#define STATOR_CAPTURE_RECORDING_UNREAD_VALUE_H

#include "capture/cpython/ref.h"

namespace stator {

struct Argument;

// False with an error set.
bool prepare_unread_values();
bool is_unread(PyObject* object);
// It is an exception that existed before the capture: each run has another one, so nobody may ask for it.
bool is_unread_exception(PyObject* object);
Ref<> make_unread(Argument* argument);
// One for all items of a container that were not asked for. It belongs to no argument.
PyObject* unread_item();  // borrowed
// nullptr for unread_item().
Argument* argument_of(PyObject* unread);
// The capture is over: it belongs to nothing.
void forget_argument(PyObject* unread);

}  // namespace stator

#endif
