// capture/recording/paused_capture.h: Python code that is executed in the middle of a capture, and not
// captured.
#ifndef STATOR_CAPTURE_RECORDING_PAUSED_CAPTURE_H
#define STATOR_CAPTURE_RECORDING_PAUSED_CAPTURE_H

#include "capture/domain.h"
#include "capture/engine/atomic_capture.h"
#include "capture/engine/engine.h"

namespace stator {

// What is called runs as if there were no capture, while this lives.
class PausedCapture {
 public:
  explicit PausedCapture(DomainCapture& capture)
      : capture_(capture),
        mode_(thread_context.change_mode(Mode::off)),
        recording_(std::exchange(thread_context.recording, nullptr)) {
    capture_.pause();
  }
  ~PausedCapture() {
    capture_.resume();
    thread_context.recording = recording_;
    thread_context.change_mode(mode_);
  }
  PausedCapture(const PausedCapture&) = delete;
  PausedCapture& operator=(const PausedCapture&) = delete;

 private:
  DomainCapture& capture_;
  Mode mode_;
  Recording* recording_;
  AtomicScope others_may_run_{false};
};

}  // namespace stator

#endif
