// capture/recording/capture_stop.h: why a capture could not go on, and where.
#ifndef STATOR_CAPTURE_RECORDING_CAPTURE_STOP_H
#define STATOR_CAPTURE_RECORDING_CAPTURE_STOP_H

#include <optional>
#include <string>
#include <vector>

#include "capture/recording/user_stack.h"
#include "core/break.h"

namespace stator {

struct CaptureStop {
  std::optional<BreakCode> code;
  std::string detail;
  std::vector<UserFrame> stack;  // of the user's, innermost last; empty where nothing ran yet
  std::string module;            // whose loading it was: once that is there, a capture may come further
  bool happened() const { return code.has_value(); }
};

}  // namespace stator

#endif
