// capture/recording/recording.cpp: the beginning and the end of a capture.
#include "capture/recording/recording.h"

#include "capture/recording/paused_capture.h"

namespace stator {

Recording::Recording(const Domain& domain, DomainCapture& capture, GuardSet& guards, UserStack& stack)
    : domain(domain), capture(capture), guards(guards), stack(stack) {
  guards.follow(&stack, stack.lines());
}
Recording::~Recording() {
  guards.follow(nullptr, stack.lines());
  locks.release_all();
}

void leave(Recording& recording) {
  recording.frame = nullptr;
  recording.at = nullptr;
  recording.stack.left();
}

}  // namespace stator
