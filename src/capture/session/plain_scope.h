// capture/session/plain_scope.h: what a program runs (backends in Python among it) is nobody's to capture.
#ifndef STATOR_CAPTURE_SESSION_PLAIN_SCOPE_H
#define STATOR_CAPTURE_SESSION_PLAIN_SCOPE_H

#include <utility>

#include "capture/engine/engine.h"

namespace stator {

class PlainScope {
 public:
  PlainScope()
      : mode_(thread_context.change_mode(Mode::off)), outer_(std::exchange(thread_context.plain, true)) {}
  ~PlainScope() {
    thread_context.change_mode(mode_);
    thread_context.plain = outer_;
  }
  PlainScope(const PlainScope&) = delete;
  PlainScope& operator=(const PlainScope&) = delete;

 private:
  Mode mode_;
  bool outer_;
};

}  // namespace stator

#endif
