// capture/session/capturing_threads.h: one thread captures at a time.
//
// A capture keeps the GIL while the program runs in it, and gives it up while the backend compiles and where
// guards are checked. What traces graphs in torch notes that in objects of the process, which captured code
// reads too: guards may fail because of it.
#ifndef STATOR_CAPTURE_SESSION_CAPTURING_THREADS_H
#define STATOR_CAPTURE_SESSION_CAPTURING_THREADS_H

#include <sys/types.h>

#include <cstddef>

namespace stator {

// From before a capture begins until its cache has it.
class CapturingScope {
 public:
  CapturingScope();
  ~CapturingScope();
  CapturingScope(const CapturingScope&) = delete;
  CapturingScope& operator=(const CapturingScope&) = delete;
};

// Whether another thread captures, or this one is in the captured program.
bool another_capture_runs();
// Grows with each capture that ends, in any thread.
size_t captures_ended();

}  // namespace stator

#endif
