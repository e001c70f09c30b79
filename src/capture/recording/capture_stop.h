// capture/recording/capture_stop.h: why a capture could not go on, and where.
#ifndef STATOR_CAPTURE_RECORDING_CAPTURE_STOP_H
#define STATOR_CAPTURE_RECORDING_CAPTURE_STOP_H

#include <optional>
#include <string>
#include <vector>

#include "capture/recording/frame_states.h"
#include "capture/recording/user_stack.h"
#include "core/break.h"

namespace stator {

struct Recording;

struct CaptureStop {
  std::optional<BreakCode> code;
  std::string detail;
  std::vector<UserFrame> stack;  // of the user's, innermost last; empty where nothing ran yet
  bool is_error = false;         // the program wants a break at this place to be an error
  std::string module;            // whose loading it was: once that is there, a capture may come further
  ProgramPlace place;            // the instruction of the program that led there, or that raised
  std::string not_kept;          // why what was captured before it could not be kept; empty: it was
  size_t earlier_end = 0;        // number of an instruction before which nothing stood in the way; 0: none
  bool happened() const { return code.has_value(); }
};

// How the layer above treats stops: whether a break is an error where the program stands now, raising that,
// and hearing of a break of a function that a compiled one calls. nullptr: it never is, nobody listens.
struct StopPolicy {
  bool (*is_error)() = nullptr;
  void (*raise)(const CaptureStop&) = nullptr;
  void (*note)(PyObject* function, const CaptureStop&) = nullptr;
};
extern StopPolicy stop_policy;

// Ends the capture with a reason; returns false. The error that is set passes over every handler.
bool stop(Recording& recording, BreakCode code, std::string detail = {});
// The same, from the next instruction of the program on: CPython runs a frame first.
void stop_after_frame(Recording& recording, BreakCode code, std::string detail);
// When an error is raised: it may be the domain's way to say that it cannot go on, or an interrupt, which no
// handler may see in a run that is taken back. `by_program`: the program itself raises it, and will do so
// again.
void note_error(Recording& recording, bool by_program = false);

}  // namespace stator

#endif
