// capture/session/attempt.h: capturing one call, stage by stage.
#ifndef STATOR_CAPTURE_SESSION_ATTEMPT_H
#define STATOR_CAPTURE_SESSION_ATTEMPT_H

#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "capture/session/entry.h"

namespace stator {

// Why an attempt is given up that is worth another one: another thread wrote to it, or code that runs beside
// a capture (torch looks an operator up for the first time).
inline constexpr std::string_view kChangedMeanwhile = "another thread changed what the capture read";

class CaptureAttempt {
 public:
  // `by_identity`: arguments for which nothing stands in.
  CaptureAttempt(const Domain& domain, DomainCapture& capture, UserStack& stack, PyObject* function,
                 const Call& call, const CaptureOptions& options,
                 const std::unordered_set<PyObject*>& by_identity);

  // Returns null on a stop, and stopped() says why. A Python error is set only where the backend raised one.
  std::unique_ptr<Entry> make();
  // The same, up to an instruction of the program, which runs natively: see recording/frame_states.h. What
  // has no operators is not worth a capture.
  // `behind`: it ends behind that instruction, whose result the domain gives.
  std::unique_ptr<Entry> make_until(size_t instruction, bool behind) {
    recording_.end.number = instruction;
    recording_.end.behind = behind;
    return make();
  }
  ~CaptureAttempt();
  CaptureAttempt(const CaptureAttempt&) = delete;
  CaptureAttempt& operator=(const CaptureAttempt&) = delete;
  const CaptureStop& stopped() const { return recording_.stopped; }
  const std::string& wanted_import() const { return recording_.wanted_import; }
  // What ended this one is known by now, and will not end another.
  bool wants_another() const { return recording_.cached.was_unsound; }
  // Arguments that are given twice, or that the function also reaches by itself: another attempt must give
  // them as they are.
  const std::unordered_set<PyObject*>& one_and_the_same() const { return recording_.arguments.repeated; }

 private:
  // Each stage: false: the capture is given up.
  bool describe_arguments();
  bool is_own_cell(Py_ssize_t argument) const;
  Ref<> stand_for_cell(Argument& argument);
  bool run_function();
  Ref<> call_function();
  Ref<> run_frame();
  bool describe_results();
  bool keeps_finalizers();
  bool lift_inputs();
  bool seal();
  void note_caches();
  bool compile();
  void note_symbols();
  bool give_up(BreakCode code, std::string detail, size_t earlier_end = 0);
  bool give_up_broken(BreakCode otherwise);

  const Domain& domain_;
  DomainCapture& capture_;
  UserStack& stack_;
  PyObject* function_;
  const Call& call_;
  const CaptureOptions& options_;
  std::unique_ptr<Entry> entry_;
  Recording recording_;
  std::vector<Ref<>> stand_ins_;
  Ref<> result_;
  std::vector<PyObject*> tensors_;    // of the arguments, then those in places; borrowed
  std::vector<Ref<>> inputs_;         // of the tensor program; nothing for those that are arguments
  std::vector<std::string> sources_;  // of the inputs
};

}  // namespace stator

#endif
