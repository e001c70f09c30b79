// src/backends/fused/training/gradient_node.h: a trained graph as one node of torch's autograd.
#pragma once

#include <ATen/ThreadLocalState.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/saved_variable.h>

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "backends/fused/training/trained_graph.h"

namespace stator::fused {

// Keeps what the forward made as torch's own nodes do: freed by the backward unless it is told to keep it,
// and watched for writes in between.
class GradientNode final : public torch::autograd::Node {
 public:
  // Before the forward runs.
  GradientNode(std::shared_ptr<const TrainedGraph> graph, std::span<const at::Tensor> inputs);

  // After the results have their history.
  void keep(std::span<const at::Tensor> inputs, const std::vector<at::Tensor>& results,
            std::span<const c10::IValue> kept);

  torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) override;
  void release_variables() override;
  std::string name() const override { return "StatorBackward"; }

 private:
  // An input as the forward found it: for a gradient that has a history of its own.
  struct Origin {
    at::Tensor tensor;
    std::optional<uint32_t> version;  // unset for a copy, and where the contents do not matter
  };

  std::vector<at::Tensor> unpacked();
  // Gradients that have a history of their own, or come batched: of the captured graph, run once more.
  torch::autograd::variable_list of_native_run(const torch::autograd::variable_list& gradients);

  std::shared_ptr<const TrainedGraph> graph_;
  std::vector<torch::autograd::SavedVariable> kept_;
  std::vector<Origin> origins_;
  RandomState random_;
  at::ThreadLocalState modes_;
  bool released_ = false;
  std::mutex in_use_;
};

}  // namespace stator::fused
