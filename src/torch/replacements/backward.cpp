// src/torch/replacements/backward.cpp: finds the leaves behind a tensor in the graph, and records the node.
#include "torch/replacements/backward.h"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/csrc/utils/pybind.h>

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "capture/cpython/attribute_lookup.h"
#include "torch/guards/tensor_guard.h"
#include "torch/operators/operator_info.h"
#include "torch/operators/operator_table.h"
#include "torch/replacements/allowed_call.h"
#include "torch/replacements/hooks.h"
#include "torch/tracing/capture_break.h"
#include "torch/tracing/imported_module.h"
#include "torch/tracing/own_python.h"
#include "torch/tracing/tracer.h"

namespace stator {
namespace {

namespace autograd = torch::autograd;

[[noreturn]] void refuse(const char* why) { raise_break(BreakCode::kBackward, why); }

// Code of the program's runs when a gradient arrives there, or others wait for it.
bool is_watched(const at::Tensor& leaf) {
  const auto* meta = autograd::impl::get_autograd_meta(leaf);
  if (meta == nullptr) return false;
  if (!meta->hooks_.empty() || meta->retains_grad_ || meta->post_acc_grad_hooks_) return true;
  const auto accumulator = autograd::impl::try_get_grad_accumulator(leaf);
  return accumulator && (!accumulator->pre_hooks().empty() || !accumulator->post_hooks().empty() ||
                         !accumulator->tensor_pre_hooks().empty());
}

// Walks the graph from results to what they were computed of.
class Leaves {
 public:
  explicit Leaves(const Session& session) : session_(session), graph_(session.graph) {
    producers_.assign(graph_.value_count(), nullptr);
    for (const ir::Node& node : graph_.nodes()) {
      for (const ir::ValueId value : ir::Graph::outputs(node)) producers_[index(value)] = &node;
    }
    find_without_history();
    find_rewritten();
    for (const ir::Node& node : graph_.nodes()) note_freed(node);
  }

  // Those that get a gradient: inputs in their order, then tensors that the function made leaves.
  std::vector<at::Tensor> behind(std::span<const ir::ValueId> roots) {
    for (const ir::ValueId root : roots) reach(root);
    while (!left_.empty()) {
      const ir::ValueId value = left_.back();
      left_.pop_back();
      if (const ir::Node* node = producers_[index(value)]) pass(*node, value);
    }
    std::vector<at::Tensor> found;
    for (const Session::Lifted& input : session_.inputs) {
      if (seen_.count(index(input.input)) == 0) continue;
      check_leaf(input.tensor);
      found.push_back(input.tracer.defined() ? input.tracer : input.tensor);
    }
    for (const at::Tensor& leaf : made_) {
      check_leaf(leaf);
      found.push_back(leaf);
    }
    return found;
  }

 private:
  void reach(ir::ValueId value) {
    if ((graph_.value(value).flags & ir::kRequiresGrad) == 0 || !seen_.insert(index(value)).second) return;
    if (rewritten_.count(storage_of(value)) != 0)
      refuse("backward through a tensor that is written to and has views");
    left_.push_back(value);
  }

  // Memory with views and with writes that have a gradient: views follow writes to their base, and a base
  // those to its views, which the graph's values do not say.
  void find_rewritten() {
    std::unordered_set<uint32_t> viewed;
    for (uint32_t i = 0; i < graph_.value_count(); i++) {
      const ir::Value& value = graph_.value(ir::ValueId{i});
      if (value.kind == ir::ValueKind::kTensor && value.alias == ir::AliasKind::kView)
        viewed.insert(storage_of(ir::ValueId{i}));
    }
    for (uint32_t i = 0; i < graph_.value_count(); i++) {
      const ir::Value& value = graph_.value(ir::ValueId{i});
      if (value.kind == ir::ValueKind::kTensor && value.alias == ir::AliasKind::kSame &&
          (value.flags & ir::kRequiresGrad) != 0 && without_history_.count(producers_[i]) == 0 &&
          viewed.count(storage_of(ir::ValueId{i})) != 0)
        rewritten_.insert(storage_of(ir::ValueId{i}));
    }
  }

  // Nodes that torch records no step of a backward for: where gradients are off, and what makes leaves. A
  // leaf that is written to there stays one.
  void find_without_history() {
    std::optional<bool> records;  // until the first node that says so: what held at the start
    for (const ir::Node& node : graph_.nodes()) {
      if (node.op == ir::op::kInferenceEnter) records = records.value_or(true);
      if (node.op != ir::op::kSetGradEnabled) continue;
      if (!records) records = !graph_.operands(node)[0].boolean;
      break;
    }
    bool now = records.value_or(c10::GradMode::is_enabled());
    for (const ir::Node& node : graph_.nodes()) {
      if (node.op == ir::op::kSetGradEnabled) now = graph_.operands(node)[0].boolean;
      if (!now || makes_leaf(node)) without_history_.insert(&node);
    }
  }

  static bool makes_leaf(const ir::Node& node) {
    const OperatorInfo* info = torch_operator(node.op);
    return info != nullptr && info->name.starts_with("aten::requires_grad");
  }

  // Torch frees what an earlier backward() of the function passed through, and raises when it comes there
  // again; here the function's own handlers must see that.
  void note_freed(const ir::Node& node) {
    if (node.op != ir::op::kCall) return;
    const auto operands = graph_.operands(node);
    const auto* function = static_cast<const OpaqueFunction*>(graph_.constant(operands[0]).object.get());
    if (!has_attribute(function->call.ptr(), "keeps_graph") ||
        function->call.attr("keeps_graph").cast<bool>())
      return;
    std::vector<ir::ValueId> left;
    graph_.for_each_value(operands[1], [&](ir::ValueId value) { left.push_back(value); });
    left.resize(function->call.attr("roots").cast<size_t>());
    while (!left.empty()) {
      const ir::ValueId value = left.back();
      left.pop_back();
      const ir::Node* producer = producers_[index(value)];
      const bool has_history = (graph_.value(value).flags & ir::kRequiresGrad) != 0;
      if (producer == nullptr || !has_history) continue;
      if (without_history_.count(producer) != 0) {
        if (graph_.value(value).alias == ir::AliasKind::kSame) left.push_back(graph_.value(value).base);
      } else if (freed_.insert(producer).second) {
        graph_.for_each_use(*producer, [&](ir::ValueId used) { left.push_back(used); });
      }
    }
  }

  void pass(const ir::Node& node, ir::ValueId from) {
    if (makes_leaf(node)) return find_made(graph_.outputs(node)[0]);
    const ir::Value& value = graph_.value(from);
    if (without_history_.count(&node) != 0 && value.alias == ir::AliasKind::kSame) return reach(value.base);
    if (freed_.count(&node) != 0) refuse("backward a second time");
    if (node.op == ir::op::kRegionEnter || node.op == ir::op::kRegionExit) return;
    if (node.op == ir::op::kCall) refuse("backward through a function that is one node");
    const OperatorInfo* info = torch_operator(node.op);
    if (info == nullptr) refuse("backward through a node that is no operator");
    const auto operands = graph_.operands(node);
    for (size_t i = 0; i < operands.size(); i++) {
      if (is_sparse_flag(*info, i) && operands[i].kind == ir::OperandKind::kBool && operands[i].boolean)
        refuse("gradients that are sparse");
      // Composites pass on what they are given, through operators of their own.
      const bool flows = info->differentiable == 0 || (i < 64 && (info->differentiable >> i & 1) != 0);
      if (flows) graph_.for_each_value(operands[i], [&](ir::ValueId value) { reach(value); });
    }
  }

  // Nobody sees the gradient of a tensor that is gone.
  void find_made(ir::ValueId value) {
    for (const Session::MadeLeaf& leaf : session_.made_leaves) {
      if (leaf.value != value) continue;
      const at::Tensor tensor(leaf.tensor.lock());
      const auto is_it = [&](const at::Tensor& known) { return known.is_same(tensor); };
      if (tensor.defined() && std::ranges::none_of(made_, is_it)) made_.push_back(tensor);
      return;
    }
    refuse("backward to a leaf of unknown origin");
  }

  static bool is_sparse_flag(const OperatorInfo& info, size_t position) {
    const auto& arguments = info.handle.schema().arguments();
    return position < arguments.size() && arguments[position].name() == "sparse";
  }

  uint32_t storage_of(ir::ValueId id) const {
    const ir::Value& value = graph_.value(id);
    return value.storage == ir::ValueId::kNone ? index(id) : index(value.storage);
  }

  static void check_leaf(const at::Tensor& tensor) {
    if (!tensor.is_leaf()) refuse("backward into code outside of the function");
    if (is_watched(tensor)) refuse("a hook on a tensor whose gradient is computed");
    if (tensor.layout() != c10::kStrided) refuse("a gradient of another layout");
  }

  const Session& session_;
  const ir::Graph& graph_;
  std::vector<const ir::Node*> producers_;
  std::unordered_set<uint32_t> seen_;
  std::unordered_set<uint32_t> rewritten_;  // storages
  std::unordered_set<const ir::Node*> without_history_;
  std::unordered_set<const ir::Node*> freed_;
  std::vector<at::Tensor> made_;
  std::vector<ir::ValueId> left_;
};

// What torch makes the first gradient of a leaf like: dense, with its strides where those are.
TensorMeta gradient_meta(const at::Tensor& leaf) {
  TensorMeta meta = meta_of(leaf);
  meta.offset = 0;
  if (leaf.is_non_overlapping_and_dense()) return meta;
  Size stride = 1;
  for (size_t i = meta.sizes.size(); i-- > 0;) {
    meta.strides[i] = stride;
    stride = stride * std::max<int64_t>(leaf.size(static_cast<int64_t>(i)), 1);
  }
  return meta;
}

// A gradient that is there already, to which torch adds in place; undefined: there is none.
at::Tensor older_gradient(const Session& session, const py::object& leaf, const TensorMeta& expected) {
  static PyObject* const name = PyUnicode_InternFromString("grad");
  const Ref<> now = session.read_attribute(leaf.ptr(), name);
  if (!now) refuse("a gradient that cannot be guarded");
  if (now.get() == Py_None) return {};
  if (!THPVariable_Check(now.get())) refuse("a gradient that is no tensor");
  const at::Tensor gradient = THPVariable_Unpack(now.get());
  const TensorMeta meta = meta_of(gradient);
  const bool is_alike = gradient.layout() == c10::kStrided && meta.sizes == expected.sizes &&
                        meta.dtype == expected.dtype && meta.device == expected.device;
  if (!is_alike || gradient.requires_grad() || is_wrapper(gradient))
    refuse("gradients are added to older ones of another kind");
  return gradient;
}

}  // namespace

void record_backward(Session& session, const BackwardCall& call) {
  if (!session.reads_numbers || session.unrecorded != 0 || session.following != 0)
    refuse("backward(): this backend has none in a graph");
  if (has_late_hooks(session)) refuse("backward() behind register_hook in the same function");
  if (!session.read_attribute || !session.make_write) refuse("backward() outside of a function");
  std::vector<ir::ValueId> roots;
  std::vector<at::Tensor> tensors;
  for (const at::Tensor& root : call.roots) {
    if (!root.defined() || as_tracer(root) == nullptr || is_wrapper(root))
      refuse("backward() of an older tensor");
    roots.push_back(session.value_of(root));
    tensors.push_back(root);
  }
  for (const at::Tensor& gradient : call.gradients) {
    if (!gradient.defined() || is_wrapper(gradient) || gradient.requires_grad())
      refuse("backward() with gradients like these");
    tensors.push_back(gradient);
  }
  const OwnPython own(&session);
  // What is read and written below may add inputs.
  const std::vector<at::Tensor> leaves = Leaves(session).behind(roots);
  std::vector<py::object> objects;
  std::vector<TensorMeta> metas;
  std::vector<at::Tensor> older;
  std::vector<std::vector<shape::Dim>> dims(leaves.size());
  std::vector<ir::ValueSpec> specs;
  for (const at::Tensor& leaf : leaves) {
    objects.push_back(py::reinterpret_steal<py::object>(THPVariable_Wrap(leaf)));
    // What a graph of torch.fx is given of it is no leaf.
    if (!session.runs_python && !is_plain_tensor_type(Py_TYPE(objects.back().ptr())))
      refuse("a gradient of a tensor of a class of the program's");
    metas.push_back(gradient_meta(leaf));
    older.push_back(older_gradient(session, objects.back(), metas.back()));
    specs.push_back(value_spec(metas.back(), false, dims[metas.size() - 1]));
    tensors.push_back(leaf);
  }
  const py::object function =
      imported("stator.runtime.backward")
          .attr("Backward")(call.roots.size(), call.gradients.size(), leaves.size(), call.keeps_graph);
  const ir::NodeId node =
      record_python_call(session, std::make_shared<OpaqueFunction>(function), "backward", tensors, {}, specs);
  static PyObject* const name = PyUnicode_InternFromString("grad");
  for (size_t i = 0; i < leaves.size(); i++) {
    const uint32_t value = index(session.graph.outputs(node)[static_cast<uint32_t>(i)]);
    const at::Tensor made = make_tracer(metas[i], {session.id(), new_memory(), value}, false, true);
    if (older[i].defined()) {
      older[i].add_(made);  // recorded as any operator
      continue;
    }
    const py::object gradient = py::reinterpret_steal<py::object>(THPVariable_Wrap(made));
    if (!session.make_write(objects[i].ptr(), name, gradient.ptr()))
      refuse("a gradient that cannot be written");
  }
}

}  // namespace stator
