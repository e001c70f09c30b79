// capture/session/callee_captures.h: captures below a function that could not be captured whole: of the
// functions that it calls, and of the parts of frames between breaks (segments).
//
// The hook asks here for every frame that starts, and the interpreter for frames that go on behind a break.
// The captures are found by code object and instruction: what else they rely on is in their guards.
//
// Serving a call costs more than CPython needs for a small function, and pays for itself by the operators
// that are run without Python. A function that has been served a few times, never by a capture with an
// operator, is left to CPython from then on: for this `self` alone, as one function may serve many objects
// (`nn.Module.__call__` those of every class).
#ifndef STATOR_CAPTURE_SESSION_CALLEE_CAPTURES_H
#define STATOR_CAPTURE_SESSION_CALLEE_CAPTURES_H

#include <algorithm>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "capture/cpython/frame.h"
#include "capture/interpreter/frame_segments.h"
#include "capture/session/cache.h"

namespace stator {

class CalleeCaptures final : public FrameSegments {
 public:
  struct OfCode {
    Ref<> code;  // a weak reference
    std::string name;
    CaptureCache cache;                       // of whole calls, or up to the first break
    std::map<size_t, CaptureCache> segments;  // by the index of the instruction that they begin at
    struct Worth {
      int served_without_operator = 0;  // calls; negative: one was served with operators
      int runs = 0;                     // calls that ran in segments; negative: some had operators
      bool left_to_python = false;
    };
    // By first argument, which is only compared; nullptr: tensors, and all others once there are many.
    std::unordered_map<const PyObject*, Worth> worth;
    bool left_to_python() const {
      return std::any_of(worth.begin(), worth.end(), [](const auto& of) { return of.second.left_to_python; });
    }
  };

  CalleeCaptures(const Domain& domain, CaptureOptions options, int limit, bool every)
      : domain_(domain), options_(options), limit_(limit), every_(every) {
    options_.by_structure = true;
    options_.without_operators = every;
  }

  // Whether captures served the call whose frame is about to start, or the generator that goes on: then
  // `result` is its value (a new reference, or nullptr with an error set), and the frame has ended as
  // CPython's evaluator would end it. Otherwise the frame is untouched and runs eagerly. `own`: the call as
  // a whole was tried before.
  bool serve_call(PyThreadState* thread, cpython::Frame* frame, bool own, PyObject** result);
  Answer serve(PyThreadState* thread, cpython::Frame* frame, const Instruction& next, PyObject** result,
               std::vector<cpython::Frame*>& inner) override;
  // Goes on where a capture of a call ended in a break.
  PyObject* go_on(PyThreadState* thread, OpenEnd& end);
  // The instruction is where a capture was given up: frames look for a segment behind it.
  static void note_break(const ProgramPlace& place);
  // Whether neither the frame nor what it calls is to be captured.
  bool keeps_from_capture(const cpython::Frame* frame) const {
    return PyFunction_Check(frame->function) &&
           domain_.keeps_from_capture(reinterpret_cast<PyFunctionObject*>(frame->function));
  }

  const std::unordered_map<PyCodeObject*, std::shared_ptr<OfCode>>& codes() const { return codes_; }
  void reset() { codes_.clear(); }

 private:
  bool wants(const cpython::Frame* frame) const;
  bool serve_whole(PyThreadState* thread, cpython::Frame* frame, OfCode& of, PyObject** result);
  bool serve_resumed(PyThreadState* thread, cpython::Frame* frame, PyObject** result);
  bool run_in_segments(PyThreadState* thread, cpython::Frame* frame, OfCode& of, PyObject** result);
  std::shared_ptr<OfCode> find(PyCodeObject* code);
  OfCode::Worth& worth_of(OfCode& of, const cpython::Frame* frame) const;
  void note_served(OfCode& of, const cpython::Frame* frame) const;

  const Domain& domain_;
  CaptureOptions options_;
  int limit_;
  bool every_;  // also functions without tensors among their arguments
  // Shared: a call in progress keeps its own while others reset.
  std::unordered_map<PyCodeObject*, std::shared_ptr<OfCode>> codes_;
};

// While this lives, functions that the thread calls are captured on their own.
class CalleesScope {
 public:
  // `of_function`: the first of them is a function that was tried before, and is not tried again.
  CalleesScope(CalleeCaptures* captures, bool of_function);
  ~CalleesScope();
  CalleesScope(const CalleesScope&) = delete;
  CalleesScope& operator=(const CalleesScope&) = delete;

 private:
  CalleeCaptures* outer_;
  bool outer_own_;
};

}  // namespace stator

#endif
