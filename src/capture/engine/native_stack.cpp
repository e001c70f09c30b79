// capture/engine/native_stack.cpp: the bounds of the thread's native stack, from the system.
#include "capture/engine/native_stack.h"

#include <pthread.h>

#include <algorithm>
#include <cstddef>

#include "capture/engine/engine.h"

namespace stator {

uintptr_t native_stack_reserve() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 1;
  void* lowest = nullptr;
  size_t size = 0;
  const int status = pthread_attr_getstack(&attributes, &lowest, &size);
  pthread_attr_destroy(&attributes);
  if (status != 0) return 1;
  // At most a quarter, so that small threads keep most of theirs.
  const size_t reserve = std::min(size / 4, kStackReserveBytes);
  return reinterpret_cast<uintptr_t>(lowest) + reserve;
}

bool native_stack_low() {
  ThreadContext& context = thread_context;
  if (context.stack_reserve() == 0) context.change_stack_reserve(native_stack_reserve());
  return reinterpret_cast<uintptr_t>(__builtin_frame_address(0)) < context.stack_reserve();
}

}  // namespace stator
