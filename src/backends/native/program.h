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

// Something that a run does besides the nodes of the graph: it reads values and makes others, by their ids.
class Step {
 public:
  virtual ~Step() = default;
  virtual void run(std::vector<c10::IValue>& values, const shape::Bindings& bindings) const = 0;

  std::vector<uint32_t> uses, makes;
};

// What a run does at one place: a node of the graph, or a step.
struct Scheduled {
  uint32_t node = 0;                 // of a step: the node that its errors are ascribed to
  std::unique_ptr<Step> step;        // null: the node
  bool records_no_gradient = false;  // the node may be dispatched past autograd
};

// Runs the nodes in order, each once, under the caller's autograd state: the same kernels, the same random
// stream, the same aliasing as eager. A value is dropped right after its last use. Reentrant.
class Program {
 public:
  // Throws std::runtime_error where the graph names an operator that torch does not know.
  explicit Program(const ir::Graph& graph);
  // Runs what is scheduled instead of the nodes. Precondition: the graph has no checkpointed regions.
  Program(const ir::Graph& graph, std::vector<Scheduled> schedule);
  ~Program();
  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;

  size_t input_count() const;  // tensors
  // `inputs` in the order of the graph's inputs that are tensors; numbers that are inputs, and sizes, come
  // from `bindings`. Values that are no tensors come back as they are.
  // `at`, if given, is the number of the instruction that runs, for those who catch what it throws.
  std::vector<c10::IValue> run(std::span<const at::Tensor> inputs, const shape::Bindings& bindings,
                               size_t* at = nullptr) const;
  // The node that the instruction is ascribed to; SIZE_MAX where the run was at its end.
  size_t node_of(size_t instruction) const;

 private:
  struct Body;
  std::shared_ptr<const Body> body_;  // backward may run a part of it once more, when the program is gone
};

}  // namespace stator::native
