// capture/session/stop_text.h: why a capture stopped, in words.
#ifndef STATOR_CAPTURE_SESSION_STOP_TEXT_H
#define STATOR_CAPTURE_SESSION_STOP_TEXT_H

#include <string>

#include "capture/recording/capture_stop.h"

namespace stator {

// `code: detail (file:line)`
std::string text_of(const CaptureStop& stop);
// The innermost frame that belongs to no library; nullptr: there is none.
const UserFrame* own_frame(const CaptureStop& stop);
// The user's stack as tracebacks show it, each frame on lines of its own, innermost last.
std::string stack_text(const CaptureStop& stop);

// The message of the error where a function had to be captured whole.
std::string not_whole_text(const CaptureStop& stop);

}  // namespace stator

#endif
