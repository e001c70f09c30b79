// capture/engine/atomic_capture.h: nobody sees a capture half done.
//
// A capture writes for real and takes everything back when it ends, so no other thread may run in between.
// The interpreter's loop keeps the GIL while it captures; C code that gives it up around its work is the
// domain's (an operator is only recorded, which takes no time), and is made to keep it as well. Rejected:
// letting others wait where they meet a tracer. They have read the attribute by then, and numbers, lists and
// flags that a capture writes do not show.
#ifndef STATOR_CAPTURE_ENGINE_ATOMIC_CAPTURE_H
#define STATOR_CAPTURE_ENGINE_ATOMIC_CAPTURE_H

#include <utility>

#include "capture/engine/engine.h"

namespace stator {

// This thread keeps the GIL, or no longer does, while this lives.
class AtomicScope {
 public:
  explicit AtomicScope(bool keeps) : outer_(std::exchange(thread_context.keeps_gil, keeps)) {}
  ~AtomicScope() { thread_context.keeps_gil = outer_; }
  AtomicScope(const AtomicScope&) = delete;
  AtomicScope& operator=(const AtomicScope&) = delete;

 private:
  bool outer_;
};

// The library whose file name begins so keeps the GIL where the thread does. False where it is not loaded.
bool keep_gil_in(const char* library);

}  // namespace stator

#endif
