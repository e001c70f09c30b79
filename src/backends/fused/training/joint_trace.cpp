// src/backends/fused/training/joint_trace.cpp: a level of torch.func around tracers, torch's engine inside.
//
// Inside of a level torch's autograd records a history of wrappers; operators leave the level, those of the
// engine too, as plain ones on tracers, and arrive at the dispatcher fallback.
#include "backends/fused/training/joint_trace.h"

#include <c10/core/DispatchKeySet.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/csrc/utils/pybind.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "backends/fused/training/dropout_step.h"
#include "core/ir/effects.h"
#include "core/pass/alias_facts.h"
#include "core/pass/graph_copier.h"
#include "core/pass/out_of_place.h"
#include "torch/replacements/gradient_level.h"
#include "torch/replacements/traced_engine.h"
#include "torch/tracing/caught_error.h"
#include "torch/tracing/session.h"
#include "torch/tracing/tracer.h"

namespace stator::fused {
namespace {

namespace autograd = torch::autograd;

struct Refused {
  std::string reason;
};

// What a gradient of this result is expected to look like: dense, with its strides where those are.
TensorMeta gradient_meta(const at::Tensor& tracer) {
  TensorMeta meta = meta_of(tracer);
  meta.offset = 0;
  meta.conj = meta.neg = false;
  if (tracer.is_non_overlapping_and_dense()) return meta;
  Size stride = 1;
  for (size_t i = meta.sizes.size(); i-- > 0;) {
    meta.strides[i] = stride;
    stride = stride * std::max<int64_t>(tracer.size(static_cast<int64_t>(i)), 1);
  }
  return meta;
}

class Tracing {
 public:
  Tracing(const ir::Graph& graph, std::span<const at::Tensor> inputs, const shape::Bindings& bindings)
      : graph_(graph), inputs_(inputs), bindings_(bindings) {
    session_.below_autocast = true;
    for (const at::Tensor& input : inputs) detached_.push_back(input.detach());
  }

  JointTrace run(const std::vector<char>& has_gradient) {
    {
      GradientLevel level(session_);
      forward(level);
      const std::vector<ir::ValueId> gradients = backward(level, has_gradient);
      level.leave_level();
      finish(gradients);
    }
    make_views();
    trace_.joint.graph = std::move(session_.graph);
    pass::write_out_of_place(trace_.joint.graph);
    return std::move(trace_);
  }

 private:
  void forward(const GradientLevel& level) {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const std::string name = "input_" + std::to_string(i);
      const at::Tensor tracer = session_.input(detached_[i], name, name);
      at::Tensor wrapper = level.wrap(tracer);
      if (inputs_[i].requires_grad()) {
        wrapper.set_requires_grad(true);
        trace_.differentiable.push_back(i);
      }
      wrappers_.push_back(wrapper);
      input_values_.push_back(session_.value_of(tracer));
    }
    std::vector<native::Scheduled> schedule = native::in_order(graph_);
    for (native::Scheduled& scheduled : schedule)
      scheduled.step = make_dropout_step(graph_, graph_.nodes()[scheduled.node]);
    const native::Program program(graph_, std::move(schedule));
    const std::vector<c10::IValue> values = program.run(wrappers_, bindings_);
    for (size_t i = 0; i < wrappers_.size(); ++i) {
      if (wrappers_[i].requires_grad() != inputs_[i].requires_grad())
        throw Refused{"an argument gets a history"};
      const bool is_written = session_.value_of(level.unwrap(wrappers_[i])) != input_values_[i];
      if (is_written && wrappers_[i].requires_grad()) throw Refused{"a write to an argument with a gradient"};
    }
    std::vector<at::Tensor> outputs;
    for (const c10::IValue& value : values) {
      if (!value.isTensor()) throw Refused{"a result that is a number"};
      outputs.push_back(value.toTensor());
    }
    describe(level, outputs);
    divide();
    trace_.joint.forward_nodes = session_.graph.nodes().size();
  }

  // A place in the history, as two results of one operator are told apart.
  using Place = std::pair<const autograd::Node*, uint32_t>;
  static Place place_of(const at::Tensor& wrapper) {
    const autograd::Edge edge = autograd::impl::gradient_edge(wrapper);
    return {edge.function.get(), edge.input_nr};
  }

  // The places that the history of these results goes through, without their own.
  static std::set<Place> reached_from(std::span<const at::Tensor> results) {
    std::set<Place> reached;
    std::unordered_set<const autograd::Node*> seen;
    std::vector<const autograd::Node*> left;
    for (const at::Tensor& result : results) left.push_back(place_of(result).first);
    while (!left.empty()) {
      const autograd::Node* node = left.back();
      left.pop_back();
      if (!seen.insert(node).second) continue;
      for (const autograd::Edge& edge : node->next_edges()) {
        if (!edge.is_valid()) continue;
        reached.emplace(edge.function.get(), edge.input_nr);
        left.push_back(edge.function.get());
      }
    }
    return reached;
  }

  void divide() {
    const std::set<Place> reached = reached_from(roots_);
    std::vector<size_t> others;
    for (size_t i = 0; i < roots_.size(); ++i) {
      if (reached.contains(place_of(roots_[i]))) {
        trace_.nodes.push_back({i});
      } else {
        others.push_back(i);
      }
    }
    std::ranges::sort(trace_.nodes, {}, [&](const std::vector<size_t>& node) {
      return std::pair(roots_[node[0]].grad_fn()->topological_nr(), node[0]);
    });
    if (!others.empty()) trace_.nodes.push_back(std::move(others));
  }

  void describe(const GradientLevel& level, const std::vector<at::Tensor>& outputs) {
    for (size_t i = 0; i < wrappers_.size(); ++i) known_[wrappers_[i].unsafeGetTensorImpl()] = {.input = i};
    // How many tensors that the program sees lie in one memory.
    std::unordered_map<uint32_t, size_t> sharing;
    std::unordered_set<c10::TensorImpl*> counted;
    for (ir::ValueId input : input_values_) ++sharing[storage_of(input)];
    find_reached(outputs);
    for (const at::Tensor& output : outputs) {
      if (output.is_conj() || output.is_neg()) throw Refused{"a result that is a conjugate view"};
      const bool is_input = known_.contains(output.unsafeGetTensorImpl());
      if (!is_input && counted.insert(output.unsafeGetTensorImpl()).second)
        ++sharing[storage_of(session_.output_value(level.unwrap(output)))];
    }
    for (const at::Tensor& output : outputs) {
      const auto found = known_.find(output.unsafeGetTensorImpl());
      if (found != known_.end()) {
        trace_.outputs.push_back(found->second);
        continue;
      }
      const ir::ValueId value = session_.output_value(level.unwrap(output));
      const bool is_shared = sharing[storage_of(value)] > 1 && !is_apart(level, output, value, outputs);
      trace_.outputs.push_back(is_shared ? shared_result(level, output, value) : result(output, value));
    }
  }

  void find_reached(const std::vector<at::Tensor>& outputs) {
    std::vector<at::Tensor> recorded;
    for (const at::Tensor& output : outputs) {
      if (output.requires_grad() && !known_.contains(output.unsafeGetTensorImpl()))
        recorded.push_back(output);
    }
    reached_ = reached_from(recorded);
  }

  bool is_reached(const at::Tensor& output) const {
    return output.requires_grad() && reached_.contains(place_of(output));
  }

  // A view that other results come of (keys and values of attention), in memory that no other result and no
  // argument sees: it may as well be a tensor of its own.
  bool is_apart(const GradientLevel& level, const at::Tensor& output, ir::ValueId value,
                const std::vector<at::Tensor>& outputs) {
    if (!is_reached(output)) return false;
    const uint32_t storage = storage_of(value);
    for (ir::ValueId input : input_values_) {
      if (storage_of(input) == storage) return false;
    }
    return std::ranges::all_of(outputs, [&](const at::Tensor& other) {
      return other.is_same(output) || storage_of(session_.output_value(level.unwrap(other))) != storage ||
             (is_reached(other) && are_apart(output, other));
    });
  }

  // Neighbours in a row of larger memory, as a split makes them.
  static bool are_apart(const at::Tensor& a, const at::Tensor& b) {
    if (a.sizes() != b.sizes() || a.strides() != b.strides()) return false;
    const int64_t distance = std::abs(a.storage_offset() - b.storage_offset());
    std::vector<std::pair<int64_t, int64_t>> dims;  // stride and size, in the order of memory
    for (int64_t d = 0; d < a.dim(); ++d) {
      if (a.size(d) != 1) dims.emplace_back(a.stride(d), a.size(d));
    }
    std::ranges::sort(dims);
    int64_t reach = 0;  // of the dimensions so far
    for (size_t d = 0; d < dims.size() && dims[d].first <= reach + distance; ++d)
      reach += (dims[d].second - 1) * dims[d].first;
    if (reach >= distance) return false;
    const auto further =
        std::ranges::find_if(dims, [&](const auto& dim) { return dim.first > reach + distance; });
    return std::all_of(further, dims.end(), [&](const auto& dim) { return dim.first % further->first == 0; });
  }

  uint32_t storage_of(ir::ValueId id) const { return index(session_.graph.value(id).storage); }

  JointTrace::Output result(const at::Tensor& wrapper, ir::ValueId value) {
    JointTrace::Output& output = known_[wrapper.unsafeGetTensorImpl()];
    output.result = results_.size();
    results_.push_back(value);
    if (wrapper.requires_grad()) {
      output.gradient = roots_.size();
      roots_.push_back(wrapper);
    }
    return output;
  }

  // A view follows its base in eager code, which a node with several results cannot say.
  JointTrace::Output shared_result(const GradientLevel& level, const at::Tensor& output, ir::ValueId value) {
    if (is_reached(output) && output.is_view()) throw Refused{"a view as a result, of which others come"};
    const ir::ValueId storage = session_.graph.value(value).storage;
    const at::Tensor base = output.is_view() ? at::Tensor(output._base()) : output;
    const ir::ValueId base_value = session_.output_value(level.unwrap(base));
    if (base_value != storage || pass::AliasFacts(session_.graph).is_written(storage) ||
        base.requires_grad() != output.requires_grad())
      throw Refused{"a result that shares memory"};
    const auto found = known_.find(base.unsafeGetTensorImpl());
    const JointTrace::Output of = found != known_.end() ? found->second : result(base, base_value);
    if (base.is_same(output)) return of;
    JointTrace::Output made = of;
    made.view = views_.size();
    views_.push_back({value, trace_.viewed.size()});
    trace_.viewed.push_back(of);
    known_[output.unsafeGetTensorImpl()] = made;
    return made;
  }

  // The nodes that make views, of the values that they are views of.
  void make_views() {
    const ir::Graph& from = session_.graph;
    pass::GraphCopier copy(from);
    std::vector<JointTrace::Output> viewed;
    std::vector<char> is_wanted(from.nodes().size());
    for (const View& view : views_) {
      const ir::ValueId storage = from.value(view.value).storage;
      if (!copy.has(storage)) {
        const std::string name = "base_" + std::to_string(viewed.size());
        copy.add_input(name, name, storage, false);
        viewed.push_back(trace_.viewed[view.base]);
      }
      for (ir::ValueId id = view.value; id != storage; id = from.value(id).base) {
        const ir::Value& value = from.value(id);
        const ir::Node& node = from.node(value.node);
        size_t used = 0;
        from.for_each_use(node, [&](ir::ValueId) { ++used; });
        if (value.alias != ir::AliasKind::kView || used != 1 || !ir::effects_of(from, node).removable())
          throw Refused{"a result that shares memory"};
        is_wanted[index(value.node)] = 1;
      }
    }
    for (size_t i = 0; i < is_wanted.size(); ++i) {
      if (is_wanted[i]) copy.add_node(from.nodes()[i]);
    }
    std::vector<ir::ValueId> outputs;
    for (const View& view : views_) outputs.push_back(copy(view.value));
    trace_.views = std::move(copy.graph());
    trace_.views.set_outputs(outputs);
    trace_.viewed = std::move(viewed);
  }

  std::vector<ir::ValueId> backward(const GradientLevel& level, const std::vector<char>& has_gradient) {
    trace_.joint.gradients = roots_.size();
    // Tensors that the graph holds become inputs as they are met; what the forward met stands before.
    lifted_in_forward_ = session_.inputs.size() - inputs_.size();
    std::vector<at::Tensor> tangents;
    for (size_t i = 0; i < roots_.size(); ++i) {
      const TensorMeta meta = gradient_meta(level.unwrap(roots_[i]));
      std::vector<shape::Dim> dims;
      const std::string name = "gradient_" + std::to_string(i);
      const ir::ValueId value = session_.graph.add_input(name, name, value_spec(meta, false, dims));
      gradient_values_.push_back(value);
      tangents.push_back(make_tracer(meta, {session_.id(), new_memory(), index(value)}, false, true));
    }
    autograd::edge_list edges;
    autograd::variable_list starts;
    for (size_t i = 0; i < roots_.size(); ++i) {
      if (!has_gradient.empty() && has_gradient[i] == 0) continue;
      edges.push_back(autograd::impl::gradient_edge(roots_[i]));
      starts.push_back(level.wrap(tangents[i]));
    }
    autograd::edge_list ends;
    for (size_t i : trace_.differentiable) ends.push_back(autograd::impl::gradient_edge(wrappers_[i]));
    std::vector<ir::ValueId> gradients;
    if (edges.empty() || ends.empty()) throw Refused{"no gradient is asked for"};
    for (const at::Tensor& found : run_engine(edges, starts, ends)) {
      trace_.gradient_of.push_back(found.defined() ? gradients.size() : SIZE_MAX);
      if (!found.defined()) continue;
      if (found.layout() != c10::kStrided) throw Refused{"a gradient that is not strided"};
      const at::Tensor inner = level.unwrap(found);
      if (inner.is_conj() || inner.is_neg()) throw Refused{"a gradient that is a conjugate view"};
      gradients.push_back(session_.output_value(inner));
    }
    return gradients;
  }

  void finish(const std::vector<ir::ValueId>& gradients) {
    std::vector<ir::ValueId> outputs = results_;
    outputs.insert(outputs.end(), gradients.begin(), gradients.end());
    session_.finish(outputs);
    if (session_.broken) throw Refused{session_.broken->detail};
    for (size_t i = inputs_.size(); i < session_.inputs.size(); ++i)
      trace_.constants.push_back(session_.inputs[i].tensor);
    trace_.joint.first_gradient = inputs_.size() + lifted_in_forward_;
    trace_.joint.results = results_.size();
  }

  const ir::Graph& graph_;
  std::span<const at::Tensor> inputs_;
  const shape::Bindings& bindings_;
  std::vector<at::Tensor> detached_;  // inputs
  Session session_;
  JointTrace trace_;
  struct View {
    ir::ValueId value;
    size_t base;  // of trace_.viewed
  };
  std::vector<at::Tensor> wrappers_;
  std::unordered_map<c10::TensorImpl*, JointTrace::Output> known_;  // by wrapper
  std::vector<View> views_;
  std::vector<ir::ValueId> input_values_;
  std::vector<ir::ValueId> results_, gradient_values_;
  std::vector<at::Tensor> roots_;
  std::set<Place> reached_;  // by the history of results
  size_t lifted_in_forward_ = 0;
};

}  // namespace

Result<JointTrace, std::string> trace_joint(const ir::Graph& graph, std::span<const at::Tensor> inputs,
                                            const shape::Bindings& bindings,
                                            const std::vector<char>& has_gradient) {
  try {
    return Tracing(graph, inputs, bindings).run(has_gradient);
  } catch (const Refused& refused) {
    return refused.reason;
  } catch (const c10::Error& error) {
    return std::string(error.what_without_backtrace());
  } catch (const std::exception& error) {
    std::string what = error.what();
    drop_caught();
    return what;
  }
}

}  // namespace stator::fused
