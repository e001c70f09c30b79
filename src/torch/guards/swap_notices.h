// src/torch/guards/swap_notices.h: notice of Python tensors that are given another TensorImpl.
//
// Only `torch._C._swap_tensor_impl` does that, behind `torch.utils.swap_tensors`. It is wrapped by a function
// that counts, so a call that hits need not look at the Python object of every parameter.
#pragma once

#include <cstdint>

namespace stator {

class SwapNotices {
 public:
  // Whether every swap is counted. False: torch has another way to do it, and objects must be looked at.
  static bool told();
  bool came() const { return seen_ != count_; }
  void settle() { seen_ = count_; }

 private:
  static uint64_t count_;
  uint64_t seen_ = count_;

  struct Wrapped;
};

}  // namespace stator
