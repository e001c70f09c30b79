// capture/interpreter/interpreter.h: the bytecode interpreter's entry, as the hook sees it.
#ifndef STATOR_CAPTURE_INTERPRETER_INTERPRETER_H
#define STATOR_CAPTURE_INTERPRETER_INTERPRETER_H

#include "capture/bytecode/decode.h"
#include "capture/engine/engine.h"

namespace stator {

// Runs a frame that is not linked yet, and every Python function called from it, until it returns, yields or
// raises. The result is what CPython's evaluator would return, and the frame is left as that would leave it.
PyObject* interpret(PyThreadState* thread, cpython::Frame* frame, bool raise,
                    const DecodedCode& code) noexcept;

// The decoded form of a code object, made on first use; nullptr where it cannot be decoded.
const DecodedCode* decoded(CodeState& state, PyCodeObject* code) noexcept;

// Called by the hook for the frame of a call whose arguments are being bound: takes the frame out of
// CPython's hands.
PyObject* keep_bound_frame(Binding& binding, cpython::Frame* frame) noexcept;

}  // namespace stator

#endif
