// capture/programs/plain_scope.h: what a program runs (backends in Python among it) is nobody's to capture.
#ifndef STATOR_CAPTURE_PROGRAMS_PLAIN_SCOPE_H
#define STATOR_CAPTURE_PROGRAMS_PLAIN_SCOPE_H

#include <utility>

#include "capture/hook/engine.h"

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
