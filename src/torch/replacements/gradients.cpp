// src/torch/replacements/gradients.cpp: learns what the gradients look like, and records the node.
#include "torch/replacements/gradients.h"

#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/pybind.h>

#include <algorithm>

#include "torch/replacements/allowed_call.h"
#include "torch/replacements/backward.h"
#include "torch/replacements/gradient_history.h"
#include "torch/replacements/hooks.h"
#include "torch/tracing/capture_break.h"
#include "torch/tracing/caught_error.h"
#include "torch/tracing/gradient_query.h"
#include "torch/tracing/imported_module.h"
#include "torch/tracing/own_python.h"
#include "torch/tracing/tracer.h"
#include "torch/tracing/wrapper_tensors.h"

namespace stator {
namespace {

[[noreturn]] void refuse(const std::string& why) { raise_break(BreakCode::kBackward, why); }

// Dimensions from the outermost in memory to the innermost. Nothing: the strides are not those of a dense
// tensor, or leave it open.
std::optional<std::vector<size_t>> dense_order(const TensorMeta& meta) {
  std::vector<size_t> order(meta.sizes.size());
  for (size_t i = 0; i < order.size(); i++) order[i] = i;
  std::ranges::stable_sort(
      order, [&](size_t a, size_t b) { return meta.strides[a].hint() > meta.strides[b].hint(); });
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    if (meta.strides[order[i]].hint() != stride || meta.sizes[order[i]].hint() < 2) return {};
    stride *= meta.sizes[order[i]].hint();
  }
  return order;
}

// The gradient of a tensor with symbolic sizes: what was learnt of numbers, told of symbols.
TensorMeta meta_for(const at::Tensor& input, const TensorMeta& learnt) {
  TensorMeta meta = meta_of(input);
  const auto is_number = [](const Size& size) { return !size.dim().is_expr(); };
  const bool is_fixed = std::ranges::all_of(meta.sizes, is_number);
  meta.dtype = learnt.dtype;
  meta.device = learnt.device;
  meta.offset = 0;
  meta.conj = meta.neg = meta.wrapped_number = false;
  if (is_fixed) {
    meta.strides = learnt.strides;
    return meta;
  }
  const auto order = dense_order(learnt);
  if (!order) refuse("a gradient whose strides are those of no dense tensor, of a size that changes");
  Size stride = 1;
  for (size_t i = order->size(); i-- > 0;) {
    meta.strides[(*order)[i]] = stride;
    stride = stride * meta.sizes[(*order)[i]];
  }
  return meta;
}

// What the run compares with: strides, or the order of the dimensions where sizes are symbols.
py::object expected_layout(const TensorMeta& meta, const TensorMeta& learnt) {
  const bool is_fixed =
      std::ranges::all_of(meta.strides, [](const Size& stride) { return !stride.dim().is_expr(); });
  py::list numbers;
  if (is_fixed) {
    for (const Size& stride : meta.strides) numbers.append(stride.dim().number());
  } else {
    const std::vector<size_t> order = dense_order(learnt).value();
    for (const size_t dimension : order) numbers.append(dimension);
  }
  return py::make_tuple(is_fixed, py::tuple(numbers));
}

// An expanded tensor, to which torch writes nothing in place: nobody notices whose memory it shows.
bool refuses_writes(const TensorMeta& meta) {
  for (size_t i = 0; i < meta.sizes.size(); i++) {
    if (meta.strides[i].hint() == 0 && meta.sizes[i].hint() > 1) return true;
  }
  return false;
}

}  // namespace

std::vector<at::Tensor> record_gradients(Session& session, const GradientCall& call) {
  if (!session.reads_numbers || session.unrecorded != 0 || session.following != 0 ||
      (session.wrappers && session.wrappers->any()))
    refuse("autograd.grad(): this backend has none in a graph");
  if (has_late_hooks(session)) refuse("autograd.grad() behind register_hook in the same function");
  GradientQuery query;
  query.creates_graph = call.creates_graph;
  const auto note = [&](const std::vector<at::Tensor>& tensors, std::vector<ir::ValueId>& values) {
    for (const at::Tensor& tensor : tensors) {
      if (!tensor.defined() || is_wrapper(tensor)) refuse("autograd.grad() of tensors like these");
      values.push_back(session.value_of(tensor));
    }
  };
  note(call.roots, query.roots);
  note(call.gradients, query.gradients);
  note(call.inputs, query.inputs);
  const auto has_no_history = [&](ir::ValueId value) { return !session.graph.value(value).requires_grad(); };
  if (call.roots.empty() || call.inputs.empty() || call.gradients.size() != call.roots.size() ||
      std::ranges::any_of(query.roots, has_no_history) || std::ranges::any_of(query.inputs, has_no_history))
    refuse("autograd.grad() of what has no history");
  GradientHistory(session).check(query.roots, query.inputs);
  const OwnPython own(&session);
  std::vector<std::optional<TracedGradient>> found;
  try {
    found = traced_gradients(query);
  } catch (const std::exception& error) {
    const std::string why = error.what();
    drop_caught();
    refuse("autograd.grad(): " + why.substr(0, why.find('\n')));
  }
  std::vector<at::Tensor> tensors = call.roots, inputs;
  tensors.insert(tensors.end(), call.gradients.begin(), call.gradients.end());
  std::vector<TensorMeta> metas;
  std::vector<std::vector<shape::Dim>> dims(found.size());
  std::vector<ir::ValueSpec> specs;
  py::list layouts;
  for (size_t i = 0; i < found.size(); i++) {
    if (!found[i] && !call.may_be_unused) refuse("autograd.grad() of a tensor that was not used");
    if (!found[i]) continue;
    if (found[i]->is_shared && !refuses_writes(found[i]->meta))
      refuse("autograd.grad(): a gradient that shares memory with another tensor");
    metas.push_back(meta_for(call.inputs[i], found[i]->meta));
    specs.push_back(value_spec(metas.back(), found[i]->requires_grad, dims[metas.size() - 1]));
    layouts.append(expected_layout(metas.back(), found[i]->meta));
    tensors.push_back(call.inputs[i]);
  }
  std::vector<at::Tensor> results(found.size());
  if (metas.empty()) return results;
  const py::object function =
      imported("stator.runtime.backward")
          .attr("Gradients")(call.roots.size(), call.gradients.size(), py::tuple(layouts), call.keeps_graph,
                             call.creates_graph);
  const auto node_function = std::make_shared<OpaqueFunction>(function);
  node_function->leaves_nothing = true;
  const ir::NodeId node = record_python_call(session, node_function, "grad", tensors, {}, specs);
  size_t next = 0;
  for (size_t i = 0; i < found.size(); i++) {
    if (!found[i]) continue;
    const bool requires_grad = found[i]->requires_grad;
    const uint32_t value = index(session.graph.outputs(node)[static_cast<uint32_t>(next)]);
    results[i] = make_tracer(metas[next++], {session.id(), new_memory(), value}, requires_grad,
                             /*leaf=*/!requires_grad);
  }
  return results;
}

}  // namespace stator
