// src/backends/fused/training/trained_graph.h: forward and backward of a captured graph, compiled for one set
// of sizes.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "backends/cuda_graphs/graphed_program.h"
#include "backends/fused/program/layout.h"
#include "backends/fused/training/joint_trace.h"
#include "backends/fused/training/returned_views.h"
#include "backends/run_recovery.h"

namespace stator::fused {

// A backward for the gradients that come. Its inputs: what the forward keeps, then gradients of results,
// those that do not come undefined.
class Backward {
 public:
  // The error says why not.
  static Result<std::shared_ptr<const Backward>, std::string> make(
      ir::Graph graph, size_t kept, std::vector<size_t> gradient_of,
      std::optional<cuda_graphs::Borders> borders);

  // By what is kept: whether it is read. What is not may be undefined, and may have been written since.
  const std::vector<char>& reads() const { return reads_; }

  // One for each differentiable input; undefined where none comes. Takes the tensors. `are_lent`: those that
  // are kept lie where they lay whenever they were lent before.
  std::vector<at::Tensor> run(std::vector<at::Tensor> kept, std::vector<at::Tensor> gradients,
                              bool are_lent) const;

 private:
  Backward(native::Program program, ReturnedViews views, std::vector<size_t> gradient_of)
      : program_(std::move(program)),
        plain_(program_.plain()),
        views_(std::move(views)),
        gradient_of_(std::move(gradient_of)) {}

  native::Program program_, plain_;
  ReturnedViews views_;
  std::vector<size_t> gradient_of_;
  std::vector<Layout> layouts_;  // of gradients of results
  std::vector<char> reads_;
};

class TrainedGraph {
 public:
  // What the forward keeps for the backward, and whose memory that is.
  struct Kept {
    size_t input = SIZE_MAX;   // it is this input itself
    size_t result = SIZE_MAX;  // it is this result itself
    // Otherwise, where it lies in memory that the program holds: of this input or result.
    size_t memory_of_input = SIZE_MAX, memory_of_result = SIZE_MAX;

    bool may_be_lent() const { return input == SIZE_MAX && memory_of_input == SIZE_MAX; }
  };

  // Compiles. `is_fixed`, by input of the captured graph: forward and backward are recorded in CUDA graphs.
  // The error says why the graph is left to `native`. The GIL is held.
  static Result<std::shared_ptr<TrainedGraph>, std::string> make(std::shared_ptr<const ir::Graph> captured,
                                                                 std::span<const at::Tensor> inputs,
                                                                 const shape::Bindings& bindings,
                                                                 std::optional<std::vector<char>> is_fixed);

  const JointTrace& trace() const { return trace_; }
  std::span<const Kept> kept() const { return kept_; }
  size_t results() const { return trace_.joint.results; }
  // Inputs that are written, whose earlier contents results may depend on.
  std::span<const size_t> read_and_written() const { return read_and_written_; }
  std::span<const size_t> written() const { return written_; }

  // Results that lie in the memory of an earlier one: both.
  std::span<const std::pair<size_t, size_t>> sharing() const { return sharing_; }

  // The joint graph's results, then what is kept; behind that a cuda_graphs::Loan, if it is lent.
  std::vector<c10::IValue> forward(std::vector<at::Tensor> inputs, size_t* at) const;
  // Results that are views, under autograd: of inputs, and of results that have their history.
  std::vector<c10::IValue> make_views(const std::vector<at::Tensor>& inputs,
                                      const std::vector<at::Tensor>& results) const;
  // For the results that have a gradient; null: it is to be made, under the modes of the forward.
  std::shared_ptr<const Backward> known_backward(const std::vector<char>& has_gradient) const;
  // Throws where it cannot be made.
  std::shared_ptr<const Backward> make_backward(const std::vector<char>& has_gradient) const;
  // The captured graph by torch's operators and under torch's autograd.
  std::vector<c10::IValue> run_natively(std::span<const at::Tensor> inputs) const;
  const RunTraces& traces() const { return traces_; }

 private:
  TrainedGraph(std::shared_ptr<const ir::Graph> captured, std::span<const at::Tensor> inputs,
               const shape::Bindings& bindings, JointTrace trace);
  void describe_kept();
  void find_written();
  void find_sharing();
  std::optional<cuda_graphs::Borders> borders_of_forward() const, borders_of_backward() const;

  std::shared_ptr<const ir::Graph> captured_;
  std::vector<at::Tensor> shells_;  // of inputs: what they look like, without memory
  shape::Bindings bindings_;
  RunTraces traces_;
  JointTrace trace_;
  std::optional<std::vector<char>> is_fixed_;
  std::vector<ir::ValueId> kept_values_;
  std::vector<Kept> kept_;
  std::vector<size_t> written_, read_and_written_;
  std::vector<std::pair<size_t, size_t>> sharing_;
  std::optional<native::Program> forward_, view_program_;
  ReturnedViews views_;
  mutable std::mutex mutex_;  // never held while the GIL is asked for
  mutable std::map<std::vector<char>, std::shared_ptr<const Backward>> backwards_;
};

}  // namespace stator::fused
