// src/backends/native/program.h: a graph made ready for replay from C++: operator handles, argument
// templates, last uses.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <functional>
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
  bool keeps_nothing =
      false;  // what it makes is memory of its own, and nothing of what it reads stays with it
};

// What a run does at one place: a node of the graph, or a step.
struct Scheduled {
  uint32_t node = 0;                 // of a step: the node that its errors are ascribed to
  std::unique_ptr<Step> step;        // null: the node
  bool records_no_gradient = false;  // the node may be dispatched past autograd
  bool in_range = false;             // it may be run by a RangeRunner, with its neighbours
};

// Every node in the graph's order.
std::vector<Scheduled> in_order(const ir::Graph& graph);

// Neighbouring instructions that are run as one, with the values that cross its borders.
struct Range {
  size_t begin = 0, end = 0;    // instructions
  std::vector<uint32_t> uses;   // made before it
  std::vector<uint32_t> makes;  // made in it, and used after it or returned
  std::vector<uint32_t> dead;   // used for the last time in it
};

// Runs ranges in another way than one instruction after the other.
class RangeRunner {
 public:
  virtual ~RangeRunner() = default;
  // Runs the instructions of the range one by one, up to `at`.
  using Natively = std::function<void(std::vector<c10::IValue>& values, size_t& at)>;

  // Called at the start and at the end of each run of the program.
  virtual void enter(const shape::Bindings& bindings) = 0;
  virtual void leave() noexcept = 0;
  // The range that begins with the instruction; null: it is run by itself. The answer holds until the next
  // call.
  virtual const Range* at(size_t instruction) const = 0;
  virtual void run(const Range& range, std::vector<c10::IValue>& values, const Natively& natively,
                   size_t& at) = 0;
  // The results of the run, which the caller keeps.
  virtual void release(std::vector<c10::IValue>& outputs) = 0;
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

  // The longest ranges of neighbours that are scheduled `in_range`. Precondition: made with that schedule.
  std::vector<Range> ranges() const;
  // A part of one of them.
  Range part_of(const Range& range, size_t begin, size_t end) const;
  // Ranges are run by `runner` from now on.
  void run_ranges_by(std::shared_ptr<RangeRunner> runner);
  // The same instructions, without a runner.
  Program plain() const;

  size_t input_count() const;  // tensors
  // `inputs` in the order of the graph's inputs that are tensors; numbers that are inputs, and sizes, come
  // from `bindings`. Values that are no tensors come back as they are.
  // `at`, if given, is the number of the instruction that runs, for those who catch what it throws.
  std::vector<c10::IValue> run(std::span<const at::Tensor> inputs, const shape::Bindings& bindings,
                               size_t* at = nullptr) const;
  // The same, and the program lets go of inputs at their last use.
  std::vector<c10::IValue> run_taking(std::vector<at::Tensor> inputs, const shape::Bindings& bindings,
                                      size_t* at = nullptr) const;
  // The node that the instruction is ascribed to; SIZE_MAX where the run was at its end.
  size_t node_of(size_t instruction) const;

 private:
  struct Body;
  // Precondition: `values` holds the inputs.
  std::vector<c10::IValue> run_values(std::vector<c10::IValue> values, const shape::Bindings& bindings,
                                      size_t* at) const;
  explicit Program(std::shared_ptr<const Body> body);
  std::shared_ptr<const Body> body_;  // backward may run a part of it once more, when the program is gone
  std::shared_ptr<RangeRunner> runner_;
};

}  // namespace stator::native
