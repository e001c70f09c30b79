// src/backends/native/gradient_trace.cpp: runs the nodes so far inside of a level of torch.func's grad.
#include "backends/native/gradient_trace.h"

#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <unordered_set>

#include "backends/native/program.h"
#include "torch/replacements/allowed_call.h"
#include "torch/replacements/gradient_history.h"
#include "torch/replacements/gradient_level.h"
#include "torch/replacements/traced_engine.h"
#include "torch/tracing/tracer.h"

namespace stator::native {
namespace {

namespace autograd = torch::autograd;

std::vector<at::Tensor> gradients(const std::vector<at::Tensor>& roots, const std::vector<at::Tensor>& given,
                                  const std::vector<at::Tensor>& inputs, bool creates_graph) {
  autograd::edge_list edges, ends;
  for (const at::Tensor& root : roots) edges.push_back(autograd::impl::gradient_edge(root));
  for (const at::Tensor& input : inputs) ends.push_back(autograd::impl::gradient_edge(input));
  return run_engine(edges, given, ends, /*keeps_graph=*/true, creates_graph);
}

// A node that computed gradients earlier.
class GradientStep final : public Step {
 public:
  GradientStep(const GradientNode& node, ir::ValueRange outputs) : node_(node) {
    for (const auto* values : {&node_.roots, &node_.gradients, &node_.inputs}) {
      for (ir::ValueId value : *values) uses.push_back(index(value));
    }
    for (ir::ValueId value : outputs) makes.push_back(index(value));
  }

  void run(std::vector<c10::IValue>& values, const shape::Bindings&) const override {
    const auto tensors = [&](const std::vector<ir::ValueId>& ids) {
      std::vector<at::Tensor> found;
      for (ir::ValueId id : ids) found.push_back(values[index(id)].toTensor());
      return found;
    };
    const std::vector<at::Tensor> found =
        gradients(tensors(node_.roots), tensors(node_.gradients), tensors(node_.inputs), node_.creates_graph);
    for (size_t i = 0; i < makes.size(); i++) {
      if (!found[i].defined()) throw std::runtime_error("an earlier gradient does not come");
      values[makes[i]] = found[i];
    }
  }

 private:
  GradientNode node_;
};

// A number that only a run has: nothing that is learnt here depends on it.
class NumberStep final : public Step {
 public:
  NumberStep(const ir::Graph& graph, const ir::Node& node) {
    for (ir::ValueId value : ir::Graph::outputs(node)) {
      const ir::ValueKind kind = graph.value(value).kind;
      if (kind != ir::ValueKind::kFloat) throw std::runtime_error("an int that only a run has");
      makes.push_back(index(value));
    }
  }
  void run(std::vector<c10::IValue>& values, const shape::Bindings&) const override {
    for (uint32_t made : makes) values[made] = 1.5;
  }
};

std::unique_ptr<Step> step_for(const ir::Graph& graph, const ir::Node& node) {
  bool gives_number = false, reads_tensor = false;
  for (ir::ValueId value : ir::Graph::outputs(node)) gives_number |= !graph.value(value).is_tensor();
  graph.for_each_use(node, [&](ir::ValueId value) { reads_tensor |= graph.value(value).is_tensor(); });
  if (node.op == ir::op::kRegionEnter) throw std::runtime_error("a checkpointed region");
  if (node.op != ir::op::kCall) {
    const bool reads_number = gives_number && reads_tensor;
    return reads_number ? std::make_unique<NumberStep>(graph, node) : nullptr;
  }
  if (const auto gradient = gradient_node(graph, node))
    return std::make_unique<GradientStep>(*gradient, ir::Graph::outputs(node));
  if (node.output_count != 0 && !gives_number) throw std::runtime_error("a function that is one node");
  return std::make_unique<NumberStep>(graph, node);
}

shape::Bindings numbers_of_capture(const shape::Context& shapes) {
  shape::Bindings bindings;
  for (size_t i = 0; i < shapes.symbols().size(); i++) {
    if (!shapes.symbols()[i].hint) throw std::runtime_error("an int that only a run has");
    bindings.ints[i] = *shapes.symbols()[i].hint;
  }
  for (size_t i = 0; i < shapes.real_symbols().size(); i++) bindings.reals[i] = 1.5;
  return bindings;
}

// The graph has these outputs while this lives.
class WithOutputs {
 public:
  WithOutputs(ir::Graph& graph, std::span<const ir::ValueId> outputs) : graph_(graph) {
    graph.set_outputs(outputs);
  }
  ~WithOutputs() { graph_.set_outputs({}); }
  WithOutputs(const WithOutputs&) = delete;
  WithOutputs& operator=(const WithOutputs&) = delete;

 private:
  ir::Graph& graph_;
};

Program program_of(ir::Graph& graph, const GradientQuery& query) {
  std::vector<ir::ValueId> wanted = query.roots;
  wanted.insert(wanted.end(), query.gradients.begin(), query.gradients.end());
  wanted.insert(wanted.end(), query.inputs.begin(), query.inputs.end());
  const WithOutputs outputs(graph, wanted);
  std::vector<Scheduled> schedule = in_order(graph);
  for (Scheduled& scheduled : schedule) scheduled.step = step_for(graph, graph.nodes()[scheduled.node]);
  return Program(graph, std::move(schedule));
}

}  // namespace

std::vector<std::optional<TracedGradient>> trace_gradients(Session& session, const GradientQuery& query) {
  const Program program = program_of(session.graph, query);
  const shape::Bindings bindings = numbers_of_capture(session.shapes());
  const bool records = c10::GradMode::is_enabled();
  std::vector<at::Tensor> detached;
  for (const Session::Lifted& input : session.inputs) detached.push_back(input.tensor.detach());
  Session traced;
  traced.below_autocast = true;
  GradientLevel level(traced);
  std::vector<at::Tensor> wrappers;
  for (size_t i = 0; i < detached.size(); i++) {
    const std::string name = "input_" + std::to_string(i);
    wrappers.push_back(level.wrap(traced.input(detached[i], name, name)));
    if (session.inputs[i].tensor.requires_grad()) wrappers.back().set_requires_grad(true);
  }
  c10::GradMode::set_enabled(records);
  const std::vector<c10::IValue> values = program.run(wrappers, bindings);
  c10::GradMode::set_enabled(true);
  size_t next = 0;
  const auto take = [&](size_t count) {
    std::vector<at::Tensor> taken;
    for (; count > 0; count--) taken.push_back(values[next++].toTensor());
    return taken;
  };
  const auto roots = take(query.roots.size()), given = take(query.gradients.size()),
             inputs = take(query.inputs.size());
  const std::vector<at::Tensor> found = gradients(roots, given, inputs, query.creates_graph);
  std::unordered_set<uint32_t> storages;
  for (const at::Tensor& wrapper : wrappers)
    storages.insert(index(traced.graph.value(traced.value_of(level.unwrap(wrapper))).storage));
  for (const at::Tensor& tensor : given)
    storages.insert(index(traced.graph.value(traced.value_of(level.unwrap(tensor))).storage));
  std::vector<std::optional<TracedGradient>> described;
  for (const at::Tensor& gradient : found) {
    described.emplace_back();
    if (!gradient.defined()) continue;
    if (gradient.layout() != c10::kStrided) throw std::runtime_error("a gradient that is not strided");
    const at::Tensor inner = level.unwrap(gradient);
    if (inner.is_conj() || inner.is_neg()) throw std::runtime_error("a gradient that is a conjugate view");
    const uint32_t storage = index(traced.graph.value(traced.value_of(inner)).storage);
    described.back() = {meta_of(inner), gradient.requires_grad(), !storages.insert(storage).second};
  }
  if (traced.broken) throw std::runtime_error(traced.broken->detail);
  return described;
}

}  // namespace stator::native
