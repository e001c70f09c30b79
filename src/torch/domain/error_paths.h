// src/torch/domain/error_paths.h: what becomes of an error that is raised in the middle of a program's run.
#pragma once

#include <unordered_map>

#include "capture/cpython/ref.h"
#include "core/user_line.h"

namespace stator {

// A run that has written to older tensors cannot be repeated natively. An error that is raised then comes out
// as it is, before any effect of the program's in Python: right only where eager code passes it on, too, and
// has made no such effect. No code outside of torch may have a `try` or `with` around it. torch.optim, whose
// step counts are read off tensors after each parameter's update, notes calls before: that may be missing.
class ErrorPaths {
 public:
  // Made before the program's first frame.
  ErrorPaths();

  // Of the place where the program stands now.
  bool pass_on(LineId line, bool without_effects);

 private:
  struct Path {
    bool is_handled = true;
    bool is_of_optimizer = false;
  };
  Path look() const;

  Ref<> caller_;  // the frame that calls the program; null if no frame does
  std::unordered_map<LineId, Path> known_;
};

// Whether the innermost frame is one of torch.optim's.
bool runs_optimizer_code();

}  // namespace stator
