// capture/interpreter/frame_segments.h: captures that a running frame may be served by, as the interpreter's
// loop sees them.
#ifndef STATOR_CAPTURE_INTERPRETER_FRAME_SEGMENTS_H
#define STATOR_CAPTURE_INTERPRETER_FRAME_SEGMENTS_H

#include <vector>

#include "capture/bytecode/decode.h"
#include "capture/cpython/frame.h"

namespace stator {

class FrameSegments {
 public:
  enum class Answer : uint8_t {
    none,      // the frame is as it was, and runs natively
    returned,  // its function is done: `result` is the value, or nullptr with an error set
    moved,     // it stands elsewhere, in a call of the first of the `inner` frames, if there are any
    // The same, where another segment may begin at once.
    moved_on,
    given_up,  // the frame is as it was, and CPython may run it to its end
  };
  virtual ~FrameSegments() = default;
  // Asked where a segment may begin: behind a break (DecodedCode::breaks) and where a call comes back. The
  // frame's stack is given.
  virtual Answer serve(PyThreadState* thread, cpython::Frame* frame, const Instruction& next,
                       PyObject** result, std::vector<cpython::Frame*>& inner) = 0;
};

// Runs frames that are not linked yet, outermost first, each of which stands in a call of the next one, until
// the outermost one is done. Segments serve them where they can; `at_once`: the innermost one, where it is.
PyObject* interpret_segments(PyThreadState* thread, const std::vector<cpython::Frame*>& frames,
                             FrameSegments& segments, bool at_once = false) noexcept;

}  // namespace stator

#endif
