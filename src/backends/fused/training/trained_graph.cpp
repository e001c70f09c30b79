// src/backends/fused/training/trained_graph.cpp: trace, partition, compile.
#include "backends/fused/training/trained_graph.h"

#include <torch/csrc/utils/pybind.h>

#include <algorithm>
#include <stdexcept>
#include <unordered_map>
#include <unordered_set>

#include "backends/fused/program/fused_program.h"
#include "core/ir/effects.h"
#include "core/ir/print.h"
#include "core/pass/partition.h"

namespace stator::fused {
namespace {

// A tensor that looks like another one and has no memory: to be traced. Those of equal storage share one.
std::vector<at::Tensor> shells_of(std::span<const at::Tensor> tensors) {
  std::unordered_map<c10::StorageImpl*, c10::Storage> storages;
  std::vector<at::Tensor> shells;
  for (const at::Tensor& tensor : tensors) {
    const c10::Storage& real = tensor.storage();
    auto [found, is_new] = storages.try_emplace(real.unsafeGetStorageImpl());
    if (is_new)
      found->second = c10::Storage(c10::Storage::use_byte_size_t(), real.nbytes(),
                                   at::DataPtr(nullptr, tensor.device()), nullptr, false);
    at::Tensor shell = at::detail::make_tensor<c10::TensorImpl>(c10::Storage(found->second), tensor.key_set(),
                                                                tensor.dtype());
    shell.unsafeGetTensorImpl()->set_sizes_and_strides(tensor.sizes(), tensor.strides(),
                                                       tensor.storage_offset());
    if (tensor.unsafeGetTensorImpl()->is_wrapped_number())
      shell.unsafeGetTensorImpl()->set_wrapped_number(true);
    shell.set_requires_grad(tensor.requires_grad());
    shells.push_back(std::move(shell));
  }
  return shells;
}

// By input.
std::vector<char> inputs_that_are_read(const ir::Graph& graph) {
  std::unordered_set<uint32_t> used;
  for (const ir::Node& node : graph.nodes())
    graph.for_each_use(node, [&](ir::ValueId id) { used.insert(index(id)); });
  for (ir::ValueId id : graph.outputs()) used.insert(index(id));
  std::vector<char> is_read;
  for (const ir::Input& input : graph.inputs()) is_read.push_back(used.contains(index(input.value)) ? 1 : 0);
  return is_read;
}

std::vector<char> all_of(size_t count) { return std::vector<char>(count, 1); }

}  // namespace

Result<std::shared_ptr<const Backward>, std::string> Backward::make(
    ir::Graph graph, size_t kept, std::vector<size_t> gradient_of,
    std::optional<cuda_graphs::Borders> borders) {
  ReturnedViews views(graph);
  if (borders) borders->is_fixed.resize(graph.inputs().size());  // gradients come from anywhere
  auto program = compiled(graph, borders);
  if (!program) return std::string("nothing compiles kernels");
  std::shared_ptr<Backward> made(new Backward(std::move(*program), std::move(views), std::move(gradient_of)));
  for (const ir::Input& input : graph.inputs().subspan(kept)) made->layouts_.emplace_back(graph, input.value);
  made->reads_ = inputs_that_are_read(graph);
  made->reads_.resize(kept);
  return std::shared_ptr<const Backward>(std::move(made));
}

std::vector<at::Tensor> Backward::run(std::vector<at::Tensor> kept, std::vector<at::Tensor> gradients,
                                      bool are_lent) const {
  std::vector<at::Tensor> inputs = std::move(kept);
  const shape::Bindings no_symbols{};
  for (size_t i = 0; i < gradients.size(); ++i) {
    at::Tensor gradient = std::move(gradients[i]);
    if (gradient.defined()) {
      if (gradient.layout() != c10::kStrided) gradient = gradient.to_dense();
      gradient = layouts_[i].arranged(gradient.resolve_conj().resolve_neg(), no_symbols);
    }
    inputs.push_back(std::move(gradient));
  }
  const native::Program& program = are_lent ? program_ : plain_;
  std::vector<c10::IValue> made = program.run_taking(std::move(inputs), no_symbols);
  views_.apply(made);
  std::vector<at::Tensor> result;
  for (size_t gradient : gradient_of_)
    result.push_back(gradient == SIZE_MAX ? at::Tensor() : made[gradient].toTensor());
  return result;
}

TrainedGraph::TrainedGraph(std::shared_ptr<const ir::Graph> captured, std::span<const at::Tensor> inputs,
                           const shape::Bindings& bindings, JointTrace trace)
    : captured_(std::move(captured)),
      shells_(shells_of(inputs)),
      bindings_(bindings),
      traces_(traces_of(*captured_)),
      trace_(std::move(trace)) {}

Result<std::shared_ptr<TrainedGraph>, std::string> TrainedGraph::make(
    std::shared_ptr<const ir::Graph> captured, std::span<const at::Tensor> inputs,
    const shape::Bindings& bindings, std::optional<std::vector<char>> is_fixed) {
  auto trace = trace_joint(*captured, inputs, bindings, {});
  if (!trace) return trace.error();
  for (size_t i = 0; i < captured->outputs().size(); ++i) {
    const JointTrace::Output& output = trace->outputs[i];
    const bool has_history =
        output.result != SIZE_MAX ? output.gradient != SIZE_MAX : inputs[output.input].requires_grad();
    if (captured->value(captured->outputs()[i]).requires_grad() != has_history)
      return std::string("a result whose history is another one");
  }
  auto parts = pass::partition(trace->joint);
  if (!parts) return parts.error();
  std::shared_ptr<TrainedGraph> made(new TrainedGraph(captured, inputs, bindings, std::move(*trace)));
  made->is_fixed_ = std::move(is_fixed);
  made->kept_values_ = std::move(parts->kept);
  made->view_program_.emplace(made->trace_.views);
  made->describe_kept();
  made->find_written();
  made->find_sharing();
  const py::object log = py::module_::import("logging").attr("getLogger")("stator.fused.training");
  if (log.attr("isEnabledFor")(10).cast<bool>())
    log.attr("debug")("forward %s\nbackward %s", ir::print(parts->forward), ir::print(parts->backward));
  made->views_ = ReturnedViews(parts->forward);
  made->forward_ = compiled(parts->forward, made->borders_of_forward());
  if (!made->forward_) return std::string("nothing compiles kernels");
  const JointTrace& own = made->trace_;
  auto backward = Backward::make(std::move(parts->backward), made->kept_values_.size(), own.gradient_of,
                                 made->borders_of_backward());
  if (!backward) return backward.error();
  made->backwards_[all_of(own.joint.gradients)] = std::move(*backward);
  return made;
}

std::optional<cuda_graphs::Borders> TrainedGraph::borders_of_forward() const {
  if (!is_fixed_) return {};
  cuda_graphs::Borders borders{.is_fixed = *is_fixed_, .lent_from = trace_.joint.results};
  borders.is_fixed.resize(is_fixed_->size() + trace_.constants.size(), 1);
  return borders;
}

std::optional<cuda_graphs::Borders> TrainedGraph::borders_of_backward() const {
  if (!is_fixed_) return {};
  cuda_graphs::Borders borders;
  for (const Kept& kept : kept_) {
    const size_t input = kept.input != SIZE_MAX ? kept.input : kept.memory_of_input;
    borders.is_fixed.push_back(input < is_fixed_->size() ? (*is_fixed_)[input] : 1);
  }
  return borders;
}

void TrainedGraph::describe_kept() {
  const ir::Graph& graph = trace_.joint.graph;
  const size_t gradients_end = trace_.joint.first_gradient + trace_.joint.gradients;
  const auto storage_of = [&](ir::ValueId id) { return index(graph.value(id).storage); };
  // By value, and by storage: the first input and the last result there.
  std::unordered_map<uint32_t, size_t> input_of, memory_of_input, result_of, memory_of_result;
  size_t number = 0;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    if (i >= trace_.joint.first_gradient && i < gradients_end) continue;
    const ir::ValueId input = graph.inputs()[i].value;
    input_of.insert_or_assign(index(input), number);
    memory_of_input.try_emplace(storage_of(input), number);
    ++number;
  }
  for (size_t i = 0; i < trace_.joint.results; ++i) {
    const ir::ValueId result = graph.outputs()[i];
    result_of.insert_or_assign(index(result), i);
    memory_of_result.insert_or_assign(storage_of(result), i);
  }
  const auto find = [](const std::unordered_map<uint32_t, size_t>& numbers, uint32_t key) {
    const auto found = numbers.find(key);
    return found == numbers.end() ? SIZE_MAX : found->second;
  };
  for (ir::ValueId id : kept_values_) {
    kept_.push_back({.input = find(input_of, index(id)),
                     .result = find(result_of, index(id)),
                     .memory_of_input = find(memory_of_input, storage_of(id)),
                     .memory_of_result = find(memory_of_result, storage_of(id))});
  }
}

// A write whose own result alone comes of the earlier contents (a counter), or statistics that batch norm
// only keeps, change no other result.
void TrainedGraph::find_written() {
  const ir::Graph& graph = trace_.joint.graph;
  std::unordered_set<uint32_t> written, read;  // storages
  for (const ir::Node& node : graph.nodes().first(trace_.joint.forward_nodes)) {
    const ir::Effects effects = ir::effects_of(graph, node);
    const auto operands = graph.operands(node);
    for (size_t k = 0; k < operands.size(); ++k) {
      auto& touched = effects.writes_argument(k) ? written : read;
      graph.for_each_value(operands[k],
                           [&](ir::ValueId id) { touched.insert(index(graph.value(id).storage)); });
    }
  }
  for (size_t i = 0; i < shells_.size(); ++i) {
    const uint32_t storage = index(graph.value(graph.inputs()[i].value).storage);
    if (!written.contains(storage)) continue;
    written_.push_back(i);
    if (read.contains(storage)) read_and_written_.push_back(i);
  }
}

void TrainedGraph::find_sharing() {
  const ir::Graph& graph = trace_.joint.graph;
  std::unordered_map<uint32_t, size_t> first;
  for (size_t i = 0; i < trace_.joint.results; ++i) {
    const auto [found, is_new] = first.try_emplace(index(graph.value(graph.outputs()[i]).storage), i);
    if (!is_new) sharing_.emplace_back(i, found->second);
  }
}

std::vector<c10::IValue> TrainedGraph::forward(std::vector<at::Tensor> inputs, size_t* at) const {
  inputs.insert(inputs.end(), trace_.constants.begin(), trace_.constants.end());
  const shape::Bindings no_symbols{};
  std::vector<c10::IValue> results = forward_->run_taking(std::move(inputs), no_symbols, at);
  views_.apply(results);
  return results;
}

std::shared_ptr<const Backward> TrainedGraph::known_backward(const std::vector<char>& has_gradient) const {
  const std::lock_guard lock(mutex_);
  const auto found = backwards_.find(has_gradient);
  return found == backwards_.end() ? nullptr : found->second;
}

std::shared_ptr<const Backward> TrainedGraph::make_backward(const std::vector<char>& has_gradient) const {
  const py::gil_scoped_acquire locked;
  auto trace = trace_joint(*captured_, shells_, bindings_, has_gradient);
  if (!trace) throw std::runtime_error("stator: no backward of some results alone: " + trace.error());
  if (trace->joint.forward_nodes != trace_.joint.forward_nodes)
    throw std::runtime_error("stator: no backward of some results alone: another forward");
  auto graph = pass::backward_from(trace->joint, kept_values_);
  if (!graph) throw std::runtime_error("stator: no backward of some results alone: " + graph.error());
  auto made =
      Backward::make(std::move(*graph), kept_values_.size(), trace->gradient_of, borders_of_backward());
  if (!made) throw std::runtime_error("stator: no backward of some results alone: " + made.error());
  const std::lock_guard lock(mutex_);
  return backwards_.try_emplace(has_gradient, std::move(*made)).first->second;
}

std::vector<c10::IValue> TrainedGraph::make_views(const std::vector<at::Tensor>& inputs,
                                                  const std::vector<at::Tensor>& results) const {
  if (trace_.viewed.empty()) return {};
  std::vector<at::Tensor> bases;
  for (const JointTrace::Output& base : trace_.viewed)
    bases.push_back(base.result == SIZE_MAX ? inputs[base.input] : results[base.result]);
  const shape::Bindings no_symbols{};
  return view_program_->run(bases, no_symbols);
}

std::vector<c10::IValue> TrainedGraph::run_natively(std::span<const at::Tensor> inputs) const {
  return native::Program(*captured_).run(inputs, bindings_);
}

}  // namespace stator::fused
