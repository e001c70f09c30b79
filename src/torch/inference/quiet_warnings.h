// src/torch/inference/quiet_warnings.h: keeps warnings of torch's C++ code back while shapes are inferred.
//
// The operator itself warns when it runs. Were inference to warn too, a program would hear it twice; and what
// shows a warning is Python code, which would become part of the capture.
#pragma once

#include <c10/util/Exception.h>

namespace stator {

class QuietWarnings final : public c10::WarningHandler {
 public:
  // "Warn always" keeps the mark of a warning that is given once in a process for the real run.
  QuietWarnings()
      : previous_(c10::WarningUtils::get_warning_handler()), always_(c10::WarningUtils::get_warnAlways()) {
    c10::WarningUtils::set_warning_handler(this);
    c10::WarningUtils::set_warnAlways(true);
  }
  ~QuietWarnings() override {
    c10::WarningUtils::set_warnAlways(always_);
    c10::WarningUtils::set_warning_handler(previous_);
  }
  QuietWarnings(const QuietWarnings&) = delete;
  QuietWarnings& operator=(const QuietWarnings&) = delete;

  void process(const c10::Warning& /*warning*/) override {}

 private:
  c10::WarningHandler* previous_;
  bool always_;
};

}  // namespace stator
