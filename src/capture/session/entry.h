// capture/session/entry.h: one capture of a function: what it relies on, what it runs, what it returns.
#ifndef STATOR_CAPTURE_SESSION_ENTRY_H
#define STATOR_CAPTURE_SESSION_ENTRY_H

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capture/arguments/argument.h"
#include "capture/arguments/call.h"
#include "capture/program/effects.h"
#include "capture/program/rebuild.h"
#include "capture/program/snapshot.h"
#include "core/shape/postfix.h"

namespace stator {

// What the user asked for when the function was compiled.
struct CaptureOptions {
  PyObject* backend = Py_None;       // borrowed; see DomainCapture::compile
  PyObject* guard_filter = Py_None;  // borrowed; see session/filtered_guards.h
  const Varying* varying = nullptr;  // numbers that become symbols; null for none
  bool whole = false;                // a stop is an error, each time: the function is never given up for it
  bool by_structure = false;         // the function is known by a FunctionSpec, not as this one object
  bool may_end_early = false;        // at a break, where the program goes on in its frames
  bool without_operators = false;    // also where nothing but Python code was captured before the break
};

class Entry;

// Where a run leaves a program that goes on from there: at a break.
struct OpenEnd {
  std::shared_ptr<const Entry> entry;
  std::vector<Ref<>> values;  // that the frames of its snapshot hold
};

class Entry {
 public:
  // Captures one call. Returns null, and the reason in `why`, if it cannot. A Python error is set only where
  // the backend raised one.
  static std::unique_ptr<Entry> capture(const Domain& domain, PyObject* function, const Call& call,
                                        const CaptureOptions& options, CaptureStop& why);

  // The tensors and numbers that the call carries, if the capture serves it. Otherwise `failed` (if given)
  // tells the first guard that failed.
  bool serves(const Domain& domain, const Call& call, CallValues& values, std::string* failed);
  // Notes the sizes and numbers of a call in which it differs from the captured one.
  void note_changes(const Domain& domain, const Call& call, Varying& varying) const;
  // Serves the call with the values that serves() found. A new reference, or nullptr with an error set: then
  // `failure` says whether the call may be made again without a capture. Null without an error: the run ends
  // in the frames of snapshot(), with the values that are left in `values.made`.
  PyObject* run(const Call& call, CallValues& values, RunFailure& failure) const;
  // Unset if the capture ends where the function returns.
  const std::optional<Snapshot>& snapshot() const { return snapshot_; }

  std::vector<std::string> guards() const;
  // For each of them the line of the user's code that relied on it first.
  std::vector<UserFrame> guard_places() const;
  // That each call compares, beside its arguments and the tensors it reaches.
  size_t words() const { return guards_.compared(); }
  std::string graph_text() const { return program_->graph_text(); }
  size_t node_count() const { return program_->node_count(); }
  PyObject* graph_module() const { return program_->graph_module(); }
  // For each node the line that it comes from, and the stack that ends in a line, outermost frame first.
  std::vector<LineId> node_lines() const { return program_->node_lines(); }
  std::vector<UserFrame> stack_of(LineId line) const { return frames_of(*lines_, line); }
  // Where the function is defined; kNone for a C function.
  LineId defined() const { return defined_; }
  uint64_t hits = 0;
  double seconds = 0;                 // that the capture took, with the backend's work
  std::optional<bool> told_captured;  // what the program was told that asked whether it is captured

 private:
  friend class CaptureAttempt;
  static std::unique_ptr<Entry> capture_until(const Domain& domain, PyObject* function, const Call& call,
                                              const CaptureOptions& options,
                                              const std::unordered_set<PyObject*>& by_identity,
                                              bool other_answer, CaptureStop& why);
  static std::unique_ptr<Entry> capture_until(const Domain& domain, PyObject* function, const Call& call,
                                              const CaptureOptions& options,
                                              const std::unordered_set<PyObject*>& by_identity,
                                              bool other_answer, bool behind, CaptureStop& why);
  bool has_keywords(const Call& call) const;
  bool are_apart(CallValues& values) const;
  // What are_apart found wrong, in words.
  std::string identity_text(const CallValues& values) const;
  void gather_inputs(CallValues& values) const;
  void count_cache_hits() const;
  void note_lines(UserStack& stack);
  void show_line(LineId line) const;

  std::vector<std::unique_ptr<Argument>> arguments_;
  size_t tensors_ = 0;  // that were read of the arguments
  Ref<> keywords_;      // names, or nothing
  uint64_t modes_ = 0;
  int levels_ = 0;  // of recursion, that the captured frames took
  GuardSet guards_;
  std::shared_ptr<const UserLines> lines_;
  LineId defined_ = LineId::kNone;  // where the function begins
  std::unique_ptr<TensorProgram> program_;
  bool overlap_matters_ = false;   // program_->depends_on_overlap()
  std::vector<PyObject*> inputs_;  // those that are no arguments (borrowed: the guards prove them), nullptr
                                   // for those that are
  struct Given {
    size_t input, tensor;
  };
  std::vector<Given> given_;        // inputs that are tensors of the arguments, and which
  std::vector<PyObject*> reached_;  // what the function reaches by itself, as far as it can be an argument
                                    // with a stand-in; in order, to be searched
  std::vector<size_t> first_of_;    // for each tensor of the arguments: the first one that is the same
  std::shared_ptr<const shape::Context> symbols_;  // nothing in a static capture
  std::optional<shape::SymbolChecks> checks_;      // of symbols_
  std::vector<std::string> symbol_guards_;         // the checks in words
  Rebuild rebuild_;
  size_t result_ = 0;  // its step
  Effects effects_;
  std::vector<std::pair<Ref<>, Py_ssize_t>> caches_;  // weak references, and how often each run asks
  std::optional<Snapshot> snapshot_;
  // Arguments that the frame lets go in the middle of the run.
  std::vector<size_t> dropped_;
  std::vector<size_t> dropped_tensors_;
  // The run ends the handler in which it began: the step of what is handled from then on.
  std::optional<size_t> handled_behind_;
  std::vector<bool> given_slots_;  // FramePlace::given, of a capture that begins in the middle
};

}  // namespace stator

#endif
