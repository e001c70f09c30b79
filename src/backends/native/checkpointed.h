// src/backends/native/checkpointed.h: a region of a run whose values backward computes once more.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <vector>

namespace stator::native {

// Between construction and leave, what operators save for backward is forgotten, and `again` is kept instead
// (torch.utils.checkpoint). Called without the GIL.
class Checkpointed {
 public:
  using Again = std::function<void(const std::vector<at::Tensor>& given)>;
  Checkpointed(Again again, bool preserves_random_state, bool stops_early,
               const std::vector<at::Tensor>& given);
  // After an error the region is closed without having ended.
  ~Checkpointed();
  Checkpointed(const Checkpointed&) = delete;
  Checkpointed& operator=(const Checkpointed&) = delete;

  void leave();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace stator::native
