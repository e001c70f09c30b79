// capture/engine/native_stack.h: how much of the thread's native stack is left.
#ifndef STATOR_CAPTURE_ENGINE_NATIVE_STACK_H
#define STATOR_CAPTURE_ENGINE_NATIVE_STACK_H

#include <cstddef>
#include <cstdint>

namespace stator {

// What is kept back: C code under CPython's own limits takes no more.
constexpr size_t kStackReserveBytes = size_t{1} << 19;

// The address below which this thread's native stack counts as used up, or 1 where the stack's bounds cannot
// be had.
uintptr_t native_stack_reserve();

// Whether this thread's native stack, or the segment that it runs on, counts as used up. Code that recurses
// over the program's data asks before it goes deeper.
bool native_stack_low();

}  // namespace stator

#endif
