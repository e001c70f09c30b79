// src/backends/fused/training/gradient_node.h: a trained graph as one node of torch's autograd.
#pragma once

#include <ATen/ThreadLocalState.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/saved_variable.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "backends/fused/training/trained_graph.h"

namespace stator::fused {

using NodePointer = decltype(torch::autograd::Edge::function);

// Keeps what the forward made as torch's own nodes do: freed by the backward unless it is told to keep it,
// and watched for writes in between.
class GradientNode final : public torch::autograd::Node {
 public:
  // Before the forward runs. It is the first of the graph's nodes, and computes for all of them.
  GradientNode(std::shared_ptr<const TrainedGraph> graph, std::span<const at::Tensor> inputs);

  // After the results have their history. `kept` may end with the loan of what is lent.
  void keep(std::span<const at::Tensor> inputs, const std::vector<at::Tensor>& results,
            std::span<const c10::IValue> kept);

  torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) override;
  void release_variables() override;

  // For another node of the graph: what came to it is computed when this node's turn comes. `at`: which
  // gradients those are.
  void take(std::span<const size_t> at, torch::autograd::variable_list&& gradients);
  // The same, where something looks at the gradients of results that these results come of: the gradients of
  // those, not counting what comes to them otherwise. The rest is computed at this node's turn.
  torch::autograd::variable_list pass_on(std::span<const size_t> at,
                                         torch::autograd::variable_list&& gradients,
                                         std::span<const size_t> wanted);
  std::string name() const override { return "StatorBackward"; }

 private:
  // An input as the forward found it: for a gradient that has a history of its own.
  struct Origin {
    at::Tensor tensor;                // without its history, which may come to hold this node
    torch::autograd::Edge edge;       // of its history
    std::optional<uint32_t> version;  // unset for a copy, and where the contents do not matter
  };
  // What other nodes were given in one run of the engine.
  struct Taken {
    torch::autograd::variable_list gradients;  // of results
    torch::autograd::variable_list of_inputs;  // to be added to what is computed
  };

  // Raises where something of it was written since.
  std::vector<at::Tensor> unpacked(const std::vector<char>& is_read);
  void release();
  Taken& taken();
  torch::autograd::variable_list computed(torch::autograd::variable_list&& gradients);
  // Gradients that have a history of their own, or come batched: of the captured graph, run once more.
  // `wanted`: results where the way back ends; their gradients stand behind those of the inputs.
  torch::autograd::variable_list of_native_run(const torch::autograd::variable_list& gradients,
                                               std::span<const size_t> wanted);

  std::shared_ptr<const TrainedGraph> graph_;
  std::vector<torch::autograd::SavedVariable> kept_;
  std::vector<at::Tensor> lent_;  // by what is kept, where that is lent
  c10::IValue loan_;
  std::vector<Origin> origins_;
  RandomState random_;
  at::ThreadLocalState modes_;
  bool released_ = false;
  std::map<int, Taken> taken_;  // by the engine's run
  std::mutex in_use_;
};

// The node of results that come of others. Its edges: the other nodes, from the first.
class ResultNode final : public torch::autograd::Node {
 public:
  ResultNode(std::shared_ptr<const TrainedGraph> graph, size_t number)
      : graph_(std::move(graph)), number_(number) {}

  torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) override;
  std::string name() const override { return "StatorBackward"; }

 private:
  std::shared_ptr<const TrainedGraph> graph_;
  size_t number_;
};

}  // namespace stator::fused
