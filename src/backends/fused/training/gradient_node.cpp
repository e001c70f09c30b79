// src/backends/fused/training/gradient_node.cpp: what is kept between forward and backward, and the backward.
#include "backends/fused/training/gradient_node.h"

#include <ATen/autocast_mode.h>
#include <ATen/ops/alias.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/graph_task.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <stdexcept>
#include <unordered_set>

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

// Whether a hook, or whoever asked for gradients, sees what comes to this node.
bool is_observed(autograd::Node& node) {
  if (!node.pre_hooks().empty() || !node.tensor_pre_hooks().empty() || !node.retains_grad_hooks().empty() ||
      !node.post_hooks().empty())
    return true;
  const auto* asked = autograd::get_current_graph_task_exec_info();
  if (!asked) return false;
  const auto found = asked->find(&node);
  return found != asked->end() && found->second.captures_;
}

// Whether the engine calls this node in its present run: nobody asked for certain gradients alone, or they
// are behind it.
bool is_called(autograd::Node& node) {
  const auto* asked = autograd::get_current_graph_task_exec_info();
  if (!asked || asked->empty()) return true;
  const auto found = asked->find(&node);
  return found != asked->end() && found->second.needed_;
}

// A result where the way back ends, for one run of the engine.
struct WayEnd {
  bool is_closed = true;
  at::Tensor found;  // what came there
};

class EndHook final : public autograd::FunctionPreHook {
 public:
  EndHook(size_t place, std::shared_ptr<WayEnd> end) : place_(place), end_(std::move(end)) {}
  autograd::variable_list operator()(const autograd::variable_list& gradients) override {
    autograd::variable_list rest = gradients;
    if (end_->is_closed) end_->found = std::exchange(rest[place_], at::Tensor());
    return rest;
  }

 private:
  size_t place_;
  std::shared_ptr<WayEnd> end_;
};

}  // namespace

GradientNode::GradientNode(std::shared_ptr<const TrainedGraph> graph, std::span<const at::Tensor> inputs)
    : graph_(std::move(graph)), random_(graph_->traces()) {
  std::vector<char> is_copied(inputs.size()), is_written(inputs.size());
  for (size_t input : graph_->read_and_written()) is_copied[input] = 1;
  for (size_t input : graph_->written()) is_written[input] = 1;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const at::Tensor& input = inputs[i];
    Origin origin;
    if (input.requires_grad()) origin.edge = autograd::impl::gradient_edge(input);
    origin.tensor = is_copied[i] ? input.detach().clone() : input.detach();
    if (!is_copied[i] && !is_written[i] && !inputs[i].is_inference()) origin.version = inputs[i]._version();
    origins_.push_back(std::move(origin));
  }
}

void GradientNode::keep(std::span<const at::Tensor> inputs, const std::vector<at::Tensor>& results,
                        std::span<const c10::IValue> kept) {
  const std::span<const TrainedGraph::Kept> description = graph_->kept();
  if (kept.size() > description.size()) {
    loan_ = kept.back();
    kept = kept.first(description.size());
    for (size_t i = 0; i < kept.size(); ++i)
      lent_.push_back(description[i].may_be_lent() ? kept[i].toTensor() : at::Tensor());
  }
  for (size_t i = 0; i < kept.size(); ++i) {
    const TrainedGraph::Kept& what = description[i];
    if (what.input < inputs.size()) {
      kept_.emplace_back(inputs[what.input], false);
      continue;
    }
    if (what.result != SIZE_MAX) {
      kept_.emplace_back(results[what.result], results[what.result].requires_grad());
      continue;
    }
    at::Tensor tensor = kept[i].toTensor();
    if (tensor.is_view()) {
      // A view that is made without autograd must not see later writes that autograd records.
      const at::AutoDispatchBelowADInplaceOrView below;
      tensor = tensor.detach();
    }
    const at::Tensor* owner = nullptr;
    if (what.memory_of_result != SIZE_MAX) {
      owner = &results[what.memory_of_result];
    } else if (what.memory_of_input < inputs.size()) {
      owner = &inputs[what.memory_of_input];
    }
    if (owner) tensor.unsafeGetTensorImpl()->set_version_counter(autograd::impl::version_counter(*owner));
    kept_.emplace_back(tensor, false);
  }
}

void GradientNode::release_variables() {
  const std::lock_guard lock(in_use_);
  release();
}

void GradientNode::release() {
  for (autograd::SavedVariable& saved : kept_) saved.reset_data();
  lent_.clear();
  loan_ = {};
  origins_.clear();
  released_ = true;
}

std::vector<at::Tensor> GradientNode::unpacked(const std::vector<char>& is_read) {
  std::vector<at::Tensor> tensors(kept_.size());
  for (size_t i = 0; i < kept_.size(); ++i) {
    if (is_read[i]) tensors[i] = kept_[i].unpack(getptr());
  }
  return tensors;
}

GradientNode::Taken& GradientNode::taken() {
  constexpr size_t kMaxRuns = 16;  // those that failed in the middle do not come back
  if (taken_.size() > kMaxRuns) taken_.erase(taken_.begin());
  Taken& taken = taken_[autograd::get_current_graph_task_id()];
  if (taken.gradients.empty()) taken.gradients.resize(graph_->trace().joint.gradients);
  return taken;
}

void GradientNode::take(std::span<const size_t> at, autograd::variable_list&& gradients) {
  const std::lock_guard lock(in_use_);
  Taken& taken = this->taken();
  for (size_t i = 0; i < at.size(); ++i) taken.gradients[at[i]] = std::move(gradients[i]);
}

autograd::variable_list GradientNode::pass_on(std::span<const size_t> at, autograd::variable_list&& gradients,
                                              std::span<const size_t> wanted) {
  const std::lock_guard lock(in_use_);
  autograd::variable_list all(graph_->trace().joint.gradients);
  for (size_t i = 0; i < at.size(); ++i) all[at[i]] = std::move(gradients[i]);
  autograd::variable_list found = of_native_run(all, wanted);
  const size_t inputs = graph_->trace().differentiable.size();
  if (is_called(*this)) {
    autograd::variable_list& sums = taken().of_inputs;
    sums.resize(inputs);
    for (size_t i = 0; i < inputs; ++i) {
      if (found[i].defined()) sums[i] = sums[i].defined() ? sums[i] + found[i] : found[i];
    }
  }
  return {found.begin() + static_cast<long>(inputs), found.end()};
}

autograd::variable_list GradientNode::apply(autograd::variable_list&& gradients) {
  const std::lock_guard lock(in_use_);
  const std::vector<std::vector<size_t>>& nodes = graph_->trace().nodes;
  if (nodes.size() == 1) return computed(std::move(gradients));
  Taken all = std::move(taken());
  taken_.erase(autograd::get_current_graph_task_id());
  for (size_t i = 0; i < gradients.size(); ++i) all.gradients[nodes[0][i]] = std::move(gradients[i]);
  autograd::variable_list found = computed(std::move(all.gradients));
  for (size_t i = 0; i < all.of_inputs.size(); ++i) {
    if (all.of_inputs[i].defined())
      found[i] = found[i].defined() ? found[i] + all.of_inputs[i] : all.of_inputs[i];
  }
  return found;
}

autograd::variable_list ResultNode::apply(autograd::variable_list&& gradients) {
  autograd::variable_list none(num_outputs());
  if (std::ranges::none_of(gradients, [](const at::Tensor& t) { return t.defined(); })) return none;
  auto& first = static_cast<GradientNode&>(*next_edge(0).function);
  const std::vector<std::vector<size_t>>& nodes = graph_->trace().nodes;
  const bool is_observed_below = std::ranges::any_of(
      next_edges(), [](const autograd::Edge& edge) { return is_observed(*edge.function); });
  if (!is_observed_below) {
    first.take(nodes[number_], std::move(gradients));
    return none;
  }
  std::vector<size_t> wanted;
  for (size_t i = 0; i < number_; ++i) wanted.push_back(nodes[i][0]);
  return first.pass_on(nodes[number_], std::move(gradients), wanted);
}

// In the order of the graph's results.
autograd::variable_list GradientNode::computed(autograd::variable_list&& gradients) {
  if (released_ && !kept_.empty()) throw std::runtime_error(autograd::ERR_BACKWARD_TWICE);
  std::vector<char> has_gradient;
  for (const at::Tensor& gradient : gradients) has_gradient.push_back(static_cast<char>(gradient.defined()));
  if (std::ranges::find(has_gradient, 1) == has_gradient.end())
    return autograd::variable_list(graph_->trace().differentiable.size());
  if (c10::GradMode::is_enabled() || !std::ranges::all_of(gradients, is_plain))
    return of_native_run(gradients, {});
  auto backward = graph_->known_backward(has_gradient);
  if (!backward) {
    const at::ThreadLocalStateGuard as_in_forward(modes_);
    backward = graph_->make_backward(has_gradient);
  }
  std::vector<at::Tensor> kept = unpacked(backward->reads());
  const c10::IValue loan = loan_;  // until the backward's work is under way
  const std::vector<at::Tensor> lent = lent_;
  for (size_t i = 0; i < lent.size(); ++i) {
    if (lent[i].defined()) kept[i] = lent[i];  // also of results, which were copied out for the caller
  }
  if (!autograd::get_current_graph_task_keep_graph()) {
    // Memory is freed as the backward goes on.
    release();
  }
  const c10::impl::ExcludeDispatchKeyGuard without_autocast(c10::autocast_dispatch_keyset);
  autograd::variable_list found =
      backward->run(std::move(kept), std::move(gradients), /*are_lent=*/loan.isCapsule());
  std::unordered_set<const c10::StorageImpl*> memory;
  for (const at::Tensor& tensor : lent) {
    if (tensor.defined()) memory.insert(tensor.storage().unsafeGetStorageImpl());
  }
  for (at::Tensor& gradient : found) {
    if (gradient.defined() && memory.contains(gradient.storage().unsafeGetStorageImpl()))
      gradient = gradient.clone();
  }
  return found;
}

autograd::variable_list GradientNode::of_native_run(const autograd::variable_list& gradients,
                                                    std::span<const size_t> wanted) {
  if (origins_.empty() && released_) throw std::runtime_error(autograd::ERR_BACKWARD_TWICE);
  unpacked(std::vector<char>(kept_.size(), 1));
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
    if (is_written[i]) input = input.clone();
    if (is_differentiable[i]) {
      input = input.detach();
      autograd::impl::set_gradient_edge(input, origin.edge);
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
  std::vector<std::shared_ptr<WayEnd>> ended(gradients.size());
  for (size_t gradient : wanted) ended[gradient] = std::make_shared<WayEnd>();
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t gradient = graph_->trace().outputs[i].gradient;
    if (gradient == SIZE_MAX || is_known[gradient]) continue;
    is_known[gradient] = 1;
    const at::Tensor& value = values[i].toTensor();
    const bool is_view = graph_->trace().outputs[i].view != SIZE_MAX;
    const autograd::Edge edge = autograd::impl::gradient_edge(is_view ? at::Tensor(value._base()) : value);
    if (ended[gradient])
      edge.function->add_tensor_pre_hook(std::make_unique<EndHook>(edge.input_nr, ended[gradient]));
    if (!gradients[gradient].defined()) continue;
    roots.push_back(edge);
    starts.push_back(gradients[gradient]);
  }
  autograd::variable_list found = autograd::Engine::get_default_engine().execute(roots, starts, creates_graph,
                                                                                 creates_graph, false, ends);
  for (size_t gradient : wanted) {
    found.push_back(std::move(ended[gradient]->found));
    ended[gradient]->is_closed = false;  // gradients of these gradients pass
  }
  return found;
}

}  // namespace stator::fused
