// capture/recording/context_writes.h: context variables that captured code has set.
//
// A capture runs in a copy of the caller's context, so what it sets is undone with it. A program sets
// nothing: a function that leaves a variable other than it was is not captured.
#ifndef STATOR_CAPTURE_RECORDING_CONTEXT_WRITES_H
#define STATOR_CAPTURE_RECORDING_CONTEXT_WRITES_H

#include <algorithm>
#include <optional>
#include <vector>

#include "capture/cpython/error_scope.h"
#include "capture/cpython/interrupts.h"
#include "capture/cpython/ref.h"
#include "capture/guards/expected_value.h"

namespace stator {

class ContextWrites {
 public:
  // Called before it is set. `value`: what it held then, or nullptr.
  // `instruction`: the number of the one that sets it.
  void note(PyObject* variable, Ref<> value, size_t instruction) {
    if (!has(variable)) set_.push_back({Ref<>::share(variable), std::move(value), instruction});
  }
  // Whether captured code has set it and not set it back: what it holds is none of the caller's doing.
  bool holds_captured(PyObject* variable) const {
    return std::any_of(set_.begin(), set_.end(),
                       [&](const Set& each) { return each.variable.get() == variable && !is_undone(each); });
  }
  // What the variable held before captured code set it, or nullptr. Asked only for one that was set.
  PyObject* held_before(PyObject* variable) const {
    const auto found = std::find_if(set_.begin(), set_.end(),
                                    [&](const Set& each) { return each.variable.get() == variable; });
    return found != set_.end() ? found->value.get() : nullptr;
  }
  bool has(PyObject* variable) const {
    return std::any_of(set_.begin(), set_.end(),
                       [&](const Set& each) { return each.variable.get() == variable; });
  }
  // The number of the first instruction that set one that does not hold what it held at first; nullopt: all
  // of them do.
  std::optional<size_t> first_left() const {
    const auto left = std::ranges::find_if_not(set_, is_undone);
    return left == set_.end() ? std::nullopt : std::optional(left->instruction);
  }

 private:
  struct Set {
    Ref<> variable, value;
    size_t instruction;
  };
  static bool is_undone(const Set& each) {
    return read_context_variable(each.variable.get()).get() == each.value.get();
  }

  std::vector<Set> set_;
};

// A copy of the thread's context is current while this lives.
class ContextCopy {
 public:
  ContextCopy() : copy_(Ref<>::steal(PyContext_CopyCurrent())) {
    if (!copy_ || PyContext_Enter(copy_.get()) < 0) {
      drop_error();
      copy_ = {};
    }
  }
  ~ContextCopy() {
    const ErrorScope of_the_run;
    if (copy_ && PyContext_Exit(copy_.get()) < 0) drop_error();
  }
  ContextCopy(const ContextCopy&) = delete;
  ContextCopy& operator=(const ContextCopy&) = delete;

 private:
  Ref<> copy_;
};

}  // namespace stator

#endif
