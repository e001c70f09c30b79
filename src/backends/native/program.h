// src/backends/native/program.h: a graph made ready for replay from C++: operator handles, argument
// templates, last uses.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <memory>
#include <span>
#include <vector>

#include "core/ir/graph.h"
#include "core/shape/bindings.h"

namespace stator::native {

// Runs the nodes in order, each once, under the caller's autograd state: the same kernels, the same random
// stream, the same aliasing as eager. A value is dropped right after its last use. Reentrant.
class Program {
 public:
  // Throws std::runtime_error where the graph names an operator that torch does not know.
  explicit Program(const ir::Graph& graph);
  ~Program();
  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;

  size_t input_count() const;  // tensors
  // `inputs` in the order of the graph's inputs that are tensors; numbers that are inputs, and sizes, come
  // from `bindings`. Values that are no tensors come back as they are.
  // `at`, if given, is the number of the node that runs, for those who catch what it throws.
  std::vector<c10::IValue> run(std::span<const at::Tensor> inputs, const shape::Bindings& bindings,
                               size_t* at = nullptr) const;

 private:
  struct Body;
  std::shared_ptr<const Body> body_;  // backward may run a part of it once more, when the program is gone
};

}  // namespace stator::native
