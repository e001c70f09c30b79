// capture/recording/symbols.h: numbers that are symbols of the capture: where C code made one, and where only
// the number will do.
#ifndef STATOR_CAPTURE_RECORDING_SYMBOLS_H
#define STATOR_CAPTURE_RECORDING_SYMBOLS_H

#include "capture/recording/recording.h"

namespace stator {

// What a key is to those who look at it after the capture: a number where it is a symbol. New reference.
Ref<> key_of(const Recording& recording, PyObject* key);
// Where C code returned a symbolic number: what captured code is to see of it.
void see_symbols(Recording& recording, PyObject*& result);
[[nodiscard]] bool before_symbols_are_given(Recording& recording, PyObject*& callable, PyObject** arguments,
                                            PyObject** end);
[[nodiscard]] bool use_numbers(Recording& recording, const Instruction& instruction, cpython::Frame* frame,
                               PyObject** sp);

}  // namespace stator

#endif
