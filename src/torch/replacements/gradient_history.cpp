// src/torch/replacements/gradient_history.cpp: finds what lies behind a tensor in the graph.
#include "torch/replacements/gradient_history.h"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/csrc/utils/pybind.h>

#include <algorithm>

#include "capture/cpython/attribute_lookup.h"
#include "torch/operators/operator_info.h"
#include "torch/operators/operator_table.h"
#include "torch/replacements/allowed_call.h"
#include "torch/tracing/capture_break.h"

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

void check_gradient(const at::Tensor& tensor) {
  if (is_watched(tensor)) refuse("a hook on a tensor whose gradient is computed");
  if (tensor.layout() != c10::kStrided) refuse("a gradient of another layout");
}

bool makes_leaf(const ir::Node& node) {
  const OperatorInfo* info = torch_operator(node.op);
  return info != nullptr && info->name.starts_with("aten::requires_grad");
}

bool is_sparse_flag(const OperatorInfo& info, size_t position) {
  const auto& arguments = info.handle.schema().arguments();
  return position < arguments.size() && arguments[position].name() == "sparse";
}

}  // namespace

std::optional<GradientNode> gradient_node(const ir::Graph& graph, const ir::Node& node) {
  if (node.op != ir::op::kCall) return {};
  const auto operands = graph.operands(node);
  const auto* function = static_cast<const OpaqueFunction*>(graph.constant(operands[0]).object.get());
  const py::object& call = function->call;
  if (!has_attribute(call.ptr(), "creates_graph")) return {};
  std::vector<ir::ValueId> values;
  graph.for_each_value(operands[1], [&](ir::ValueId value) { values.push_back(value); });
  const auto roots = call.attr("roots").cast<ptrdiff_t>(), given = call.attr("gradients").cast<ptrdiff_t>();
  const auto first = values.begin();
  return GradientNode{{first, first + roots},
                      {first + roots, first + roots + given},
                      {first + roots + given, values.end()},
                      call.attr("keeps_graph").cast<bool>(),
                      call.attr("creates_graph").cast<bool>()};
}

GradientHistory::GradientHistory(Session& session) : session_(session), graph_(session.graph) {
  session.record_modes();  // the program may have left those under which its operators ran
  producers_.assign(graph_.value_count(), nullptr);
  for (const ir::Node& node : graph_.nodes()) {
    for (const ir::ValueId value : ir::Graph::outputs(node)) producers_[index(value)] = &node;
  }
  find_without_history();
  find_rewritten();
  for (const ir::Node& node : graph_.nodes()) note_freed(node);
}

void GradientHistory::walk(const std::vector<ir::ValueId>& roots) {
  for (const ir::ValueId root : roots) reach(root);
  while (!left_.empty()) {
    const ir::ValueId value = left_.back();
    left_.pop_back();
    if (const ir::Node* node = producers_[index(value)]) pass(*node, value);
  }
}

std::vector<GradientHistory::Leaf> GradientHistory::behind(const std::vector<ir::ValueId>& roots) {
  walk(roots);
  std::vector<Leaf> found;
  for (const Session::Lifted& input : session_.inputs) {
    if (seen_.count(index(input.input)) == 0) continue;
    if (!input.tensor.is_leaf()) refuse("backward into code outside of the function");
    check_gradient(input.tensor);
    found.push_back({input.tracer.defined() ? input.tracer : input.tensor, input.value});
  }
  for (const at::Tensor& leaf : made_) found.push_back({leaf, session_.value_of(leaf)});
  return found;
}

void GradientHistory::check(const std::vector<ir::ValueId>& roots, const std::vector<ir::ValueId>& inputs) {
  follows_views_ = true;
  walk(roots);
  for (const Session::Lifted& input : session_.inputs) {
    const bool is_asked = std::ranges::find(inputs, input.value) != inputs.end();
    if (seen_.count(index(input.input)) == 0 && !is_asked) continue;
    // What other inputs have to do with a history outside is not seen from here.
    if (!input.tensor.is_leaf() && !(is_asked && inputs.size() == 1))
      refuse("autograd.grad() into code outside of the function");
    check_gradient(input.tensor);
  }
}

void GradientHistory::reach(ir::ValueId value) {
  if (!graph_.value(value).requires_grad() || !seen_.insert(index(value)).second) return;
  if (!follows_views_ && rewritten_.count(storage_of(value)) != 0)
    refuse("backward through a tensor that is written to and has views");
  left_.push_back(value);
}

// Nodes that torch records no step of a backward for: where gradients are off, and what makes leaves. A leaf
// that is written to there stays one.
void GradientHistory::find_without_history() {
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

// Memory with views and with writes that have a gradient: views follow writes to their base, and a base
// those to its views, which the graph's values do not say.
void GradientHistory::find_rewritten() {
  std::unordered_set<uint32_t> viewed;
  for (uint32_t i = 0; i < graph_.value_count(); i++) {
    const ir::Value& value = graph_.value(ir::ValueId{i});
    if (value.kind == ir::ValueKind::kTensor && value.alias == ir::AliasKind::kView)
      viewed.insert(storage_of(ir::ValueId{i}));
  }
  for (uint32_t i = 0; i < graph_.value_count(); i++) {
    const ir::Value& value = graph_.value(ir::ValueId{i});
    if (value.kind == ir::ValueKind::kTensor && value.alias == ir::AliasKind::kSame &&
        value.requires_grad() && without_history_.count(producers_[i]) == 0 &&
        viewed.count(storage_of(ir::ValueId{i})) != 0)
      rewritten_.insert(storage_of(ir::ValueId{i}));
  }
}

// Torch frees what an earlier backward() of the function passed through, and raises when it comes there
// again; here the function's own handlers must see that.
void GradientHistory::note_freed(const ir::Node& node) {
  const auto gradient = gradient_node(graph_, node);
  if (!gradient || gradient->keeps_graph) return;
  std::vector<ir::ValueId> left = gradient->roots;
  while (!left.empty()) {
    const ir::ValueId value = left.back();
    left.pop_back();
    const ir::Node* producer = producers_[index(value)];
    if (producer == nullptr || !graph_.value(value).requires_grad()) continue;
    if (without_history_.count(producer) != 0) {
      if (graph_.value(value).alias == ir::AliasKind::kSame) left.push_back(graph_.value(value).base);
    } else if (freed_.insert(producer).second) {
      graph_.for_each_use(*producer, [&](ir::ValueId used) { left.push_back(used); });
    }
  }
}

void GradientHistory::pass(const ir::Node& node, ir::ValueId from) {
  if (makes_leaf(node)) return find_made(graph_.outputs(node)[0]);
  const ir::Value& value = graph_.value(from);
  if (without_history_.count(&node) != 0 && value.alias == ir::AliasKind::kSame) return reach(value.base);
  if (freed_.count(&node) != 0) refuse("backward a second time");
  if (node.op == ir::op::kRegionEnter || node.op == ir::op::kRegionExit) return;
  if (node.op == ir::op::kCall) {
    if (!gradient_node(graph_, node)) refuse("backward through a function that is one node");
    passed_gradients_ = true;
    graph_.for_each_use(node, [&](ir::ValueId value) { reach(value); });
    return;
  }
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
void GradientHistory::find_made(ir::ValueId value) {
  for (const Session::MadeLeaf& leaf : session_.made_leaves) {
    if (leaf.value != value) continue;
    const at::Tensor tensor(leaf.tensor.lock());
    const auto is_it = [&](const at::Tensor& known) { return known.is_same(tensor); };
    if (!tensor.defined() || std::ranges::any_of(made_, is_it)) return;
    check_gradient(tensor);
    made_.push_back(tensor);
    return;
  }
  refuse("backward to a leaf of unknown origin");
}

uint32_t GradientHistory::storage_of(ir::ValueId id) const {
  const ir::Value& value = graph_.value(id);
  return value.storage == ir::ValueId::kNone ? index(id) : index(value.storage);
}

}  // namespace stator
