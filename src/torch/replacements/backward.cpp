// src/torch/replacements/backward.cpp: finds out which leaves get a gradient, and records the node.
#include "torch/replacements/backward.h"

#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/pybind.h>

#include <algorithm>

#include "torch/guards/tensor_guard.h"
#include "torch/replacements/allowed_call.h"
#include "torch/replacements/gradient_history.h"
#include "torch/replacements/hooks.h"
#include "torch/tracing/capture_break.h"
#include "torch/tracing/caught_error.h"
#include "torch/tracing/gradient_query.h"
#include "torch/tracing/imported_module.h"
#include "torch/tracing/own_python.h"
#include "torch/tracing/tracer.h"

namespace stator {
namespace {

[[noreturn]] void refuse(const char* why) { raise_break(BreakCode::kBackward, why); }

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

// Behind gradients that have a history of their own (`create_graph`), which leaves get one is learnt: a
// gradient does not depend on all that it was computed with.
std::vector<at::Tensor> leaves_behind(Session& session, const BackwardCall& call,
                                      const std::vector<ir::ValueId>& roots) {
  GradientHistory history(session);
  std::vector<at::Tensor> leaves;
  GradientQuery query{roots, {}, {}, false};
  for (const GradientHistory::Leaf& leaf : history.behind(roots)) {
    leaves.push_back(leaf.tensor);
    query.inputs.push_back(leaf.value);
  }
  if (!history.passed_gradients()) return leaves;
  for (const at::Tensor& gradient : call.gradients) query.gradients.push_back(session.value_of(gradient));
  if (query.gradients.size() != roots.size()) refuse("backward() through autograd.grad()");
  std::vector<std::optional<TracedGradient>> found;
  try {
    found = traced_gradients(query);
  } catch (const std::exception& error) {
    const std::string why = error.what();
    drop_caught();
    refuse(("backward() through autograd.grad(): " + why.substr(0, why.find('\n'))).c_str());
  }
  std::vector<at::Tensor> reached;
  for (size_t i = 0; i < leaves.size(); i++) {
    if (found[i]) reached.push_back(leaves[i]);
  }
  return reached;
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
  const std::vector<at::Tensor> leaves = leaves_behind(session, call, roots);
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
