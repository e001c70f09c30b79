// src/torch/domain/left_modes.h: modes of the thread that a captured program leaves changed.
//
// A segment may end inside of no_grad or autocast. Its graph leads back to the modes of the caller, as every
// backend expects it; the thread is given the modes of the program's end once the graph has run. Inference
// mode is not among them: the object that leaves it belongs to C++.
#pragma once

#include <memory>
#include <optional>

#include "capture/domain.h"
#include "torch/tracing/mode_state.h"

namespace stator {

// The thread's modes at a time, and how many regions of autocast are open then.
class ThreadModes {
 public:
  ThreadModes();  // as they are now
  // Makes them the thread's, without inference mode.
  void restore() const;
  const ModeState& state() const { return state_; }
  int nesting() const { return nesting_; }
  bool operator==(const ThreadModes&) const = default;

 private:
  ModeState state_;
  int nesting_;
};

// The bits of ModeState::word() in which a program may leave the thread changed.
uint64_t lasting_mode_bits();

// The program, which then leaves `end` behind in place of `begin`. `keeps_casts`: it leaves no region of
// autocast, so what torch keeps of casts for the region at its end is the program's to use further.
std::unique_ptr<TensorProgram> leaving_modes(std::unique_ptr<TensorProgram> program, const ThreadModes& begin,
                                             const ThreadModes& end, bool keeps_casts);

}  // namespace stator
