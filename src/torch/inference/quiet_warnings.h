// src/torch/inference/quiet_warnings.h: keeps warnings of torch's C++ code back while shapes are inferred.
//
// The operator itself warns when it runs. Were inference to warn too, a program would hear it twice; and what
// shows a warning is Python code, which would become part of the capture.
#pragma once

#include <c10/util/Exception.h>

#include <cstddef>
#include <mutex>

namespace stator {

// "Warn always" keeps the mark of a warning that is given once in a process for the real run. It is the
// process's, and Python code under inference may let another thread infer too: the first sets it, and the
// last puts it back.
class WarnAlways {
 public:
  WarnAlways() {
    const std::lock_guard lock(mutex_);
    if (users_++ > 0) return;
    before_ = c10::WarningUtils::get_warnAlways();
    c10::WarningUtils::set_warnAlways(true);
  }
  ~WarnAlways() {
    const std::lock_guard lock(mutex_);
    if (--users_ == 0) c10::WarningUtils::set_warnAlways(before_);
  }
  WarnAlways(const WarnAlways&) = delete;
  WarnAlways& operator=(const WarnAlways&) = delete;

 private:
  static inline std::mutex mutex_;
  static inline size_t users_ = 0;
  static inline bool before_ = false;
};

class QuietWarnings final : public c10::WarningHandler {
 public:
  QuietWarnings() : previous_(c10::WarningUtils::get_warning_handler()) {
    c10::WarningUtils::set_warning_handler(this);
  }
  ~QuietWarnings() override { c10::WarningUtils::set_warning_handler(previous_); }
  QuietWarnings(const QuietWarnings&) = delete;
  QuietWarnings& operator=(const QuietWarnings&) = delete;

  void process(const c10::Warning& /*warning*/) override {}

 private:
  c10::WarningHandler* previous_;
  WarnAlways always_;
};

}  // namespace stator
