// capture/engine/overflow_stack.h: native stack beyond the thread's own, so that a program that recurses
// through C goes as deep as CPython's recursion limit says.
#ifndef STATOR_CAPTURE_ENGINE_OVERFLOW_STACK_H
#define STATOR_CAPTURE_ENGINE_OVERFLOW_STACK_H

namespace stator {

// Calls `body(argument)` on a fresh stretch of native stack, of which the thread knows the bounds meanwhile.
// False where there is none to be had: nothing was called. `body` must not let an exception out.
bool run_on_segment(void (*body)(void*), void* argument) noexcept;

}  // namespace stator

#endif
