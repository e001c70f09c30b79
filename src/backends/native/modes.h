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
  // The program came to its end. Not told by the number of uncaught exceptions: a torch with a C++ library of
  // its own counts those by itself.
  void finish() { finished_ = true; }

 private:
  struct Entered;
  std::unique_ptr<Entered> entered_;
  bool finished_ = false;
};

}  // namespace stator::native
