// src/backends/native/modes.h: the modes that a program enters and leaves while it runs.
#pragma once

#include <ATen/core/stack.h>

#include <memory>

#include "core/ir/graph.h"

namespace stator::native {

// What the program leaves entered on purpose stays; the destructor only ends what it could not: an exception.
class ModeStack {
 public:
  ModeStack();
  ~ModeStack();
  ModeStack(const ModeStack&) = delete;
  ModeStack& operator=(const ModeStack&) = delete;

  void apply(ir::OpId op, const torch::jit::Stack& arguments);

 private:
  struct Entered;
  std::unique_ptr<Entered> entered_;
};

}  // namespace stator::native
