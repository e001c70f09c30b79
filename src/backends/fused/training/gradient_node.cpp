// src/backends/fused/training/gradient_node.cpp: what is kept between forward and backward, and the backward.
#include "backends/fused/training/gradient_node.h"

#include <ATen/autocast_mode.h>
#include <ATen/ops/alias.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/graph_task.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <stdexcept>

#include "torch/tracing/session.h"

namespace stator::fused {

namespace autograd = torch::autograd;

namespace {

// Kernels can read it: memory, and no transform or mode of Python's around it.
bool is_plain(const at::Tensor& gradient) {
  return !gradient.defined() || (!is_wrapper(gradient) && !gradient.key_set().has(c10::DispatchKey::Python) &&
                                 !gradient._is_zerotensor() && !gradient.is_nested() && !gradient.is_meta() &&
                                 (gradient.has_storage() || gradient.layout() != c10::kStrided));
}

}  // namespace

GradientNode::GradientNode(std::shared_ptr<const TrainedGraph> graph, std::span<const at::Tensor> inputs)
    : graph_(std::move(graph)), random_(graph_->traces()) {
  std::vector<char> is_copied(inputs.size()), is_written(inputs.size());
  for (size_t input : graph_->read_and_written()) is_copied[input] = 1;
  for (size_t input : graph_->written()) is_written[input] = 1;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Origin origin{is_copied[i] ? inputs[i].detach().clone() : inputs[i], {}};
    if (!is_copied[i] && !is_written[i] && !inputs[i].is_inference()) origin.version = inputs[i]._version();
    origins_.push_back(std::move(origin));
  }
}

void GradientNode::keep(std::span<const at::Tensor> inputs, const std::vector<at::Tensor>& results,
                        std::span<const c10::IValue> kept) {
  for (size_t i = 0; i < kept.size(); ++i) {
    const TrainedGraph::Kept& what = graph_->kept()[i];
    if (what.input < inputs.size()) {
      kept_.emplace_back(inputs[what.input], false);
      continue;
    }
    if (what.result != SIZE_MAX) {
      kept_.emplace_back(results[what.result], results[what.result].requires_grad());
      continue;
    }
    const at::Tensor& tensor = kept[i].toTensor();
    const at::Tensor* owner = nullptr;
    if (what.memory_of_result != SIZE_MAX) {
      owner = &results[what.memory_of_result];
    } else if (what.memory_of_input < inputs.size()) {
      owner = &inputs[what.memory_of_input];
    }
    if (owner && owner->is_same(tensor)) {
      kept_.emplace_back(*owner, what.memory_of_result != SIZE_MAX && owner->requires_grad());
      continue;
    }
    if (owner) tensor.unsafeGetTensorImpl()->set_version_counter(autograd::impl::version_counter(*owner));
    kept_.emplace_back(tensor, false);
  }
}

void GradientNode::release_variables() {
  const std::lock_guard lock(in_use_);
  for (autograd::SavedVariable& saved : kept_) saved.reset_data();
  origins_.clear();
  released_ = true;
}

std::vector<at::Tensor> GradientNode::unpacked() {
  std::vector<at::Tensor> tensors;
  for (const autograd::SavedVariable& saved : kept_) tensors.push_back(saved.unpack(getptr()));
  return tensors;
}

autograd::variable_list GradientNode::apply(autograd::variable_list&& gradients) {
  const std::lock_guard lock(in_use_);
  if (released_ && !kept_.empty()) throw std::runtime_error(autograd::ERR_BACKWARD_TWICE);
  std::vector<char> has_gradient;
  for (const at::Tensor& gradient : gradients) has_gradient.push_back(static_cast<char>(gradient.defined()));
  if (std::ranges::find(has_gradient, 1) == has_gradient.end())
    return autograd::variable_list(graph_->trace().differentiable.size());
  if (c10::GradMode::is_enabled() || !std::ranges::all_of(gradients, is_plain))
    return of_native_run(gradients);
  auto backward = graph_->known_backward(has_gradient);
  if (!backward) {
    const at::ThreadLocalStateGuard as_in_forward(modes_);
    backward = graph_->make_backward(has_gradient);
  }
  std::vector<at::Tensor> kept = unpacked();
  if (!autograd::get_current_graph_task_keep_graph()) {
    // Memory is freed as the backward goes on.
    for (autograd::SavedVariable& saved : kept_) saved.reset_data();
    origins_.clear();
    released_ = true;
  }
  const c10::impl::ExcludeDispatchKeyGuard without_autocast(c10::autocast_dispatch_keyset);
  return backward->run(std::move(kept), std::move(gradients));
}

autograd::variable_list GradientNode::of_native_run(const autograd::variable_list& gradients) {
  if (origins_.empty() && released_) throw std::runtime_error(autograd::ERR_BACKWARD_TWICE);
  unpacked();  // raises where something was written since
  std::vector<char> is_differentiable(origins_.size());
  for (size_t input : graph_->trace().differentiable) is_differentiable[input] = 1;
  std::vector<char> is_written(origins_.size());
  for (size_t input : graph_->written()) is_written[input] = 1;
  const bool creates_graph = c10::GradMode::is_enabled();
  const c10::AutoGradMode recorded(true);
  std::vector<at::Tensor> inputs;
  autograd::edge_list ends;
  for (size_t i = 0; i < origins_.size(); ++i) {
    const Origin& origin = origins_[i];
    at::Tensor input = origin.tensor;
    if (origin.version && input._version() != *origin.version)
      throw std::runtime_error(
          "stator: a gradient with a history of its own is asked of a compiled function, and an argument of "
          "the call has been modified by an inplace operation");
    if (is_written[i]) input = input.detach().clone();
    if (is_differentiable[i]) {
      // Hooks of the program's on the input are not for this run's engine.
      input = at::alias(input);
      ends.push_back(autograd::impl::gradient_edge(input));
    }
    inputs.push_back(std::move(input));
  }
  std::vector<c10::IValue> values;
  {
    RandomState now(graph_->traces());
    random_.restore();
    const at::ThreadLocalStateGuard as_in_forward(modes_);
    const c10::AutoGradMode recorded_again(true);
    values = graph_->run_natively(inputs);
    now.restore();
  }
  autograd::edge_list roots;
  autograd::variable_list starts;
  std::vector<char> is_known(gradients.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t gradient = graph_->trace().outputs[i].gradient;
    if (gradient == SIZE_MAX || !gradients[gradient].defined() || is_known[gradient]) continue;
    is_known[gradient] = 1;
    const at::Tensor& value = values[i].toTensor();
    const bool is_view = graph_->trace().outputs[i].view != SIZE_MAX;
    roots.push_back(autograd::impl::gradient_edge(is_view ? at::Tensor(value._base()) : value));
    starts.push_back(gradients[gradient]);
  }
  return autograd::Engine::get_default_engine().execute(roots, starts, creates_graph, creates_graph, false,
                                                        ends);
}

}  // namespace stator::fused
