// capture/session/callee_captures.h: captures of the functions that a function calls which could not be
// captured itself.
//
// After a break the function runs as it is, and the hook asks here for every frame that it starts. The
// captures are found by code object: what a call made of a function relies on is in its guards.
//
// Serving a call costs more than CPython needs for a small function, and pays for itself by the operators
// that are run without Python. A function that has been served a few times, never by a capture with an
// operator, is left to CPython from then on.
#ifndef STATOR_CAPTURE_SESSION_CALLEE_CAPTURES_H
#define STATOR_CAPTURE_SESSION_CALLEE_CAPTURES_H

#include <memory>
#include <unordered_map>
#include <vector>

#include "capture/cpython/frame.h"
#include "capture/session/cache.h"

namespace stator {

class CalleeCaptures {
 public:
  struct OfCode {
    Ref<> code;  // a weak reference
    std::string name;
    CaptureCache cache;
    int served_without_operator = 0;  // calls; negative: one was served with operators
    bool left_to_python = false;
  };

  CalleeCaptures(const Domain& domain, CaptureOptions options, int limit, bool every)
      : domain_(domain), options_(options), limit_(limit), every_(every) {
    options_.by_structure = true;
  }

  // Whether a capture served the call whose frame is about to start: then `result` is its value (a new
  // reference, or nullptr with an error set). Otherwise the frame is untouched and runs as it is.
  bool serve(cpython::Frame* frame, PyObject** result);
  // Whether neither the frame nor what it calls is to be captured.
  bool keeps_from_capture(const cpython::Frame* frame) const {
    return PyFunction_Check(frame->function) &&
           domain_.keeps_from_capture(reinterpret_cast<PyFunctionObject*>(frame->function));
  }

  const std::unordered_map<PyCodeObject*, std::shared_ptr<OfCode>>& codes() const { return codes_; }
  void reset() { codes_.clear(); }

 private:
  bool wants(const cpython::Frame* frame) const;
  std::shared_ptr<OfCode> find(PyCodeObject* code);
  void note_served(OfCode& of) const;

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
