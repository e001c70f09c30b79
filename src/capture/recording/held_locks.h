// capture/recording/held_locks.h: locks that captured code has taken and not given back.
#ifndef STATOR_CAPTURE_RECORDING_HELD_LOCKS_H
#define STATOR_CAPTURE_RECORDING_HELD_LOCKS_H

#include <algorithm>
#include <optional>
#include <vector>

#include "capture/cpython/error_scope.h"
#include "capture/cpython/interrupts.h"
#include "capture/cpython/ref.h"

namespace stator {

class HeldLocks {
 public:
  bool empty() const { return held_.empty(); }

  // `instruction`: the number of the one that takes it.
  void take(PyObject* lock, size_t recorded, size_t instruction) {
    held_.push_back({Ref<>::share(lock), recorded, instruction});
  }
  // The number of the instruction that took the first one that is held.
  std::optional<size_t> first_taken() const {
    return held_.empty() ? std::nullopt : std::optional(held_.front().instruction);
  }

  // How many operators had been recorded when it was taken; nullopt if captured code did not take it.
  std::optional<size_t> give_back(PyObject* lock) {
    const auto is_it = [lock](const Held& held) { return held.lock.get() == lock; };
    const auto last = std::find_if(held_.rbegin(), held_.rend(), is_it);
    if (last == held_.rend()) return std::nullopt;
    const size_t recorded = last->recorded;
    held_.erase(std::next(last).base());
    return recorded;
  }

  // Of a capture that is given up: nobody else will do it.
  void release_all() {
    const ErrorScope scope;
    for (; !held_.empty(); held_.pop_back()) {
      if (!Ref<>::steal(PyObject_CallMethod(held_.back().lock.get(), "release", nullptr))) drop_error();
    }
  }

 private:
  struct Held {
    Ref<> lock;
    size_t recorded;
    size_t instruction;
  };
  std::vector<Held> held_;
};

}  // namespace stator

#endif
