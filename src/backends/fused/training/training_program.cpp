// src/backends/fused/training/training_program.cpp: finds what is compiled for a call's sizes, and runs it.
#include "backends/fused/training/training_program.h"

#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/pybind.h>

#include <map>

#include "backends/fused/training/gradient_node.h"
#include "backends/fused/training/obstacle.h"
#include "backends/fused/training/trained_graph.h"
#include "backends/fx/overlap_checked.h"
#include "backends/kernel_warnings.h"
#include "backends/native/tensor_program.h"
#include "torch/domain/wrapped_program.h"
#include "torch/tracing/mode_state.h"

namespace stator::fused {
namespace {

// So many sets of sizes have kernels of their own; the graph runs as by `native` for more.
constexpr size_t kMaxSizes = 8;

void log(const std::string& text) {
  py::module_::import("logging").attr("getLogger")("stator.fused").attr("info")("%s", text);
}

// Nodes are counted by one kind of pointer up to torch 2.12, and by another one from then on.
template <class Node, class Pointer = NodePointer, class... Given>
auto new_node(const Given&... given) {
  if constexpr (requires(Pointer p) { p.release(); }) {
    return c10::make_intrusive<Node>(given...);
  } else {
    return std::make_shared<Node>(given...);
  }
}

auto first_node(const std::shared_ptr<const TrainedGraph>& trained, const std::vector<at::Tensor>& inputs) {
  torch::autograd::edge_list edges;
  for (size_t input : trained->trace().differentiable)
    edges.push_back(torch::autograd::impl::gradient_edge(inputs[input]));
  auto node = new_node<GradientNode>(trained, inputs);
  node->set_next_edges(std::move(edges));
  return node;
}

// By gradient of a result: the node that gets it.
std::vector<NodePointer> nodes_of(const std::shared_ptr<const TrainedGraph>& trained,
                                  const NodePointer& first) {
  const JointTrace& trace = trained->trace();
  std::vector<NodePointer> of_gradient(trace.joint.gradients);
  torch::autograd::edge_list edges;
  for (size_t i = 0; i < trace.nodes.size(); ++i) {
    NodePointer node = first;
    if (i > 0) {
      node = new_node<ResultNode>(trained, i);
      node->set_next_edges(torch::autograd::edge_list(edges));
    }
    edges.emplace_back(node, 0);
    for (size_t gradient : trace.nodes[i]) of_gradient[gradient] = node;
  }
  return of_gradient;
}

class TrainingProgram final : public WrappedProgram {
 public:
  TrainingProgram(std::unique_ptr<TensorProgram> native, std::shared_ptr<Session> session, bool records)
      : WrappedProgram(std::move(native)), session_(std::move(session)), graph_(session_, &session_->graph) {
    if (records) is_fixed_ = cuda_graphs::fixed_inputs(*session_);
  }

  bool run(PyObject* const* inputs, const shape::Bindings& bindings, std::vector<Ref<>>& outputs,
           RunFailure& failure) const override {
    std::vector<at::Tensor> tensors;
    const size_t count = graph_->inputs().size();
    tensors.reserve(count);
    for (size_t i = 0; i < count; i++) tensors.push_back(THPVariable_Unpack(inputs[i]));
    std::shared_ptr<const TrainedGraph> trained;
    try {
      if (c10::GradMode::is_enabled()) trained = trained_for(tensors, bindings);
    } catch (...) {
      failure.untouched = true;
      torch::translate_exception_to_python(std::current_exception());
      return false;
    }
    if (!trained) {
      tensors.clear();
      return program().run(inputs, bindings, outputs, failure);
    }
    return run_trained(trained, std::move(tensors), outputs, failure);
  }

 private:
  bool run_trained(const std::shared_ptr<const TrainedGraph>& trained, std::vector<at::Tensor> tensors,
                   std::vector<Ref<>>& outputs, RunFailure& failure) const {
    const RunTraces& traces = trained->traces();
    RandomState random(traces);
    KernelWarnings warnings(nullptr);
    const auto fail = [&] {
      failure.untouched = traces.first == SIZE_MAX;
      if (failure.untouched) random.restore();
      return false;
    };
    try {
      std::vector<at::Tensor> results;
      std::vector<c10::IValue> views;
      {
        py::gil_scoped_release release;
        results = results_of(trained, tensors);
        views = trained->make_views(tensors, results);
      }
      if (size_t node = 0; !warnings.show(*graph_, node)) return fail();
      for (const JointTrace::Output& output : trained->trace().outputs) {
        const at::Tensor& tensor = output.view != SIZE_MAX     ? views[output.view].toTensor()
                                   : output.result == SIZE_MAX ? tensors[output.input]
                                                               : results[output.result];
        outputs.push_back(Ref<>::steal(THPVariable_Wrap(tensor)));
      }
      return true;
    } catch (...) {
      torch::translate_exception_to_python(std::current_exception());
      return fail();
    }
  }

  // Results in one memory have one counter of writes, as views have.
  static void share_versions(const TrainedGraph& trained, const std::vector<at::Tensor>& results) {
    for (const auto& [result, first] : trained.sharing())
      results[result].unsafeGetTensorImpl()->set_version_counter(
          torch::autograd::impl::version_counter(results[first]));
  }

  static std::vector<at::Tensor> results_of(const std::shared_ptr<const TrainedGraph>& trained,
                                            const std::vector<at::Tensor>& tensors) {
    const auto first = first_node(trained, tensors);
    std::vector<c10::IValue> values;
    {
      const at::NoGradGuard no_gradients;
      const c10::impl::ExcludeDispatchKeyGuard without_autocast(c10::autocast_dispatch_keyset);
      values = trained->forward(tensors, nullptr);
    }
    const JointTrace& trace = trained->trace();
    std::vector<at::Tensor> results(trained->results());
    for (size_t i = 0; i < results.size(); ++i) {
      results[i] = std::move(values[i]).toTensor();
      if (!results[i].is_view()) continue;
      const at::AutoDispatchBelowADInplaceOrView below;  // of memory that nobody else sees
      results[i] = results[i].detach();
    }
    share_versions(*trained, results);
    const std::vector<NodePointer> nodes = nodes_of(trained, first);
    for (const JointTrace::Output& output : trace.outputs) {
      if (output.gradient == SIZE_MAX || results[output.result].grad_fn()) continue;
      torch::autograd::set_history(results[output.result], nodes[output.gradient]);
    }
    first->keep(tensors, results, std::span(values).subspan(results.size()));
    return results;
  }

  // Null if the call is to run as by `native`. Called under the GIL, which tracing may release: another
  // thread does not wait.
  std::shared_ptr<const TrainedGraph> trained_for(const std::vector<at::Tensor>& tensors,
                                                  const shape::Bindings& bindings) const {
    const size_t symbols = graph_->shapes().symbols().size();
    std::vector<int64_t> sizes(bindings.ints.begin(), bindings.ints.begin() + static_cast<long>(symbols));
    if (const auto found = trained_.find(sizes); found != trained_.end()) return found->second;
    if (is_compiling_ || trained_.size() >= kMaxSizes || under_unsupported_mode()) return nullptr;
    is_compiling_ = true;
    struct Done {
      bool& flag;
      ~Done() { flag = false; }
    } const done{is_compiling_};
    auto made = TrainedGraph::make(graph_, tensors, bindings, is_fixed_);
    if (!made) log("a graph with gradients runs as by 'native': " + made.error());
    return trained_[sizes] = made ? *made : nullptr;
  }

  std::shared_ptr<Session> session_;
  std::shared_ptr<const ir::Graph> graph_;
  std::optional<std::vector<char>> is_fixed_;  // by input; nothing: CUDA graphs are not wanted
  mutable std::map<std::vector<int64_t>, std::shared_ptr<const TrainedGraph>> trained_;
  mutable bool is_compiling_ = false;
};

}  // namespace

std::unique_ptr<TensorProgram> make_training_program(std::shared_ptr<Session> session, bool records) {
  std::string reason = training_obstacle(*session);
  std::vector<at::Tensor> inputs;
  for (const Session::Lifted& lifted : session->inputs) inputs.push_back(lifted.tensor);
  fx::InputOverlap overlap(session->graph, inputs);
  if (overlap.matters() && !overlap.none()) reason = "an argument that is written shares memory with another";
  if (!reason.empty()) {
    log("a graph with gradients runs as by 'native': " + reason);
    return nullptr;
  }
  auto native = native::make_tensor_program(session);
  std::unique_ptr<TensorProgram> made =
      std::make_unique<TrainingProgram>(std::move(native), std::move(session), records);
  if (!overlap.matters()) return made;
  return std::make_unique<fx::OverlapChecked>(std::move(made), std::move(overlap), inputs.size());
}

}  // namespace stator::fused
