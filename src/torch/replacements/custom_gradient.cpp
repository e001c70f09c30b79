// src/torch/replacements/custom_gradient.cpp: torch.autograd.Function.apply under autograd, as one node of
// the graph.
#include "torch/replacements/custom_gradient.h"

#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/autograd/variable.h>

#include "capture/cpython/interrupts.h"
#include "torch/operators/custom_forward_checks.h"
#include "torch/replacements/allowed_call.h"
#include "torch/tracing/caught_error.h"
#include "torch/tracing/imported_module.h"
#include "torch/tracing/own_python.h"
#include "torch/tracing/tracer.h"

namespace stator {
namespace {

namespace autograd = torch::autograd;

// The autograd state of a real tensor, which apply may change where forward marks or returns it.
class KeptHistory {
 public:
  explicit KeptHistory(const at::Tensor& tensor) : tensor_(tensor) {
    if (const auto* meta = autograd::impl::get_autograd_meta(tensor)) {
      function_ = meta->grad_fn_;
      output_ = meta->output_nr_;
      requires_grad_ = meta->requires_grad_;
    }
  }
  void restore() {
    auto* meta = autograd::impl::get_autograd_meta(tensor_);
    if (meta == nullptr) return;
    meta->grad_fn_ = function_;
    meta->output_nr_ = output_;
    meta->requires_grad_ = requires_grad_;
  }

 private:
  at::Tensor tensor_;
  decltype(autograd::AutogradMeta::grad_fn_) function_;
  uint32_t output_ = 0;
  bool requires_grad_ = false;
};

// While it lives, operators of a forward are followed and not recorded.
struct Following {
  explicit Following(Session& session) : session(session), outer(session.followed_memory) {
    ++session.unrecorded;
    ++session.following;
    session.followed_memory = new_memory();
    followed_traces() = {};
  }
  ~Following() {
    --session.unrecorded;
    --session.following;
    session.followed_memory = outer;
  }
  Session& session;
  uint64_t outer;
};

struct Output {
  TensorMeta meta;
  bool requires_grad = false;
  std::optional<size_t> base;  // the input that it is a view of
};

uint64_t memory_of(Session& session, const at::Tensor& tensor) {
  const Tracer* tracer = as_tracer(tensor);
  return tracer != nullptr ? tracer->identity().memory : session.lift(tensor).memory;
}

// What apply gave for one tensor. `seen`: the memories of those before it.
Output describe(Session& session, const at::Tensor& tensor, const std::vector<at::Tensor>& inputs,
                uint64_t start, std::unordered_map<uint64_t, size_t>& seen) {
  const Tracer* tracer = as_tracer(tensor);
  if (tracer == nullptr) throw std::runtime_error("its forward returns a tensor that existed before");
  Output output{meta_of(tensor), tensor.requires_grad(), {}};
  const uint64_t memory = tracer->identity().memory;
  if (!seen.emplace(memory, seen.size()).second)
    throw std::runtime_error("two of its results share their memory");
  if (memory > start) return output;
  for (size_t i = 0; i < inputs.size(); i++) {
    if (memory_of(session, inputs[i]) != memory) continue;
    if (tensor.unsafeGetTensorImpl() == inputs[i].unsafeGetTensorImpl())
      throw std::runtime_error("it returns an argument itself");
    output.base = i;
    return output;
  }
  throw std::runtime_error("its forward returns a view of a tensor that existed before");
}

Ref<> record(Session& session, const py::object& call, const py::object& result,
             const std::vector<at::Tensor>& inputs, const std::vector<ir::ValueId>& values,
             const std::vector<ir::Operand>& numbers, uint64_t start) {
  const OwnPython own(&session);
  std::vector<Output> outputs;
  std::vector<std::vector<shape::Dim>> dims;
  std::vector<ir::ValueSpec> specs;
  std::unordered_map<uint64_t, size_t> seen;
  const py::list tensors = call.attr("returns")(result);
  dims.resize(tensors.size());
  for (const py::handle& tensor : tensors) {
    outputs.push_back(describe(session, THPVariable_Unpack(tensor.ptr()), inputs, start, seen));
    const Output& output = outputs.back();
    specs.push_back(value_spec(output.meta, output.requires_grad, dims[specs.size()]));
    if (output.base) specs.back().alias = ir::Alias::view(values[*output.base]);
  }
  const auto function = std::make_shared<OpaqueFunction>(call);
  function->leaves_nothing = !followed_traces().draws_from_given;
  function->draws = followed_traces().draws;
  std::vector<ir::Operand> operands{session.graph.constant(function, call.attr("name").cast<std::string>()),
                                    session.graph.value_list(values)};
  operands.insert(operands.end(), numbers.begin(), numbers.end());
  const ir::NodeId node = session.graph.append(ir::op::kCall, operands, specs, session.line());
  py::list tracers;
  for (size_t i = 0; i < outputs.size(); i++) {
    const Output& output = outputs[i];
    const uint32_t value = index(session.graph.outputs(node)[static_cast<uint32_t>(i)]);
    const at::Tensor tracer =
        output.base
            ? make_view_tracer(output.meta, {session.id(), memory_of(session, inputs[*output.base]), value},
                               inputs[*output.base], output.requires_grad, false)
            : make_tracer(output.meta, {session.id(), new_memory(), value}, output.requires_grad, false);
    tracers.append(py::reinterpret_steal<py::object>(THPVariable_Wrap(tracer)));
  }
  return Ref<>::steal(call.attr("result")(tracers).release().ptr());
}

}  // namespace

Ref<> record_custom_gradient(Session& session, PyObject* apply, PyObject* arguments, std::string& why) {
  try {
    std::optional<OwnPython> own(&session);
    // A compiler follows its backward, and bakes in what that reads.
    if (!session.changes_tensors &&
        !imported("stator.runtime.custom_gradients")
             .attr("is_self_contained")(py::handle(reinterpret_cast<PyCFunctionObject*>(apply)->m_self))
             .cast<bool>()) {
      why = "the backend compiles what it is given, and its code reads variables from outside of it";
      return {};
    }
    const py::module_ opaque = imported("stator.runtime.allowed_call");
    const py::object function =
        opaque.attr("Apply")(py::handle(reinterpret_cast<PyCFunctionObject*>(apply)->m_self));
    const py::object call =
        opaque.attr("OpaqueCall")(function, py::handle(arguments), py::dict(), py::arg("symbols") = true);
    session.record_modes();
    std::vector<at::Tensor> inputs;
    std::vector<ir::ValueId> values;
    std::vector<KeptHistory> kept;
    for (const py::handle& tensor : py::list(call.attr("tensors"))) {
      inputs.push_back(THPVariable_Unpack(tensor.ptr()));
      values.push_back(session.value_of(inputs.back()));
      if (as_tracer(inputs.back()) == nullptr) kept.emplace_back(inputs.back());
    }
    const std::vector<ir::Operand> numbers = number_operands(session, call);
    call.attr("forget")();
    own.reset();
    py::object result;
    uint64_t start = 0;
    {
      const Following following(session);
      start = session.followed_memory;
      result = py::reinterpret_steal<py::object>(PyObject_Call(apply, arguments, nullptr));
    }
    for (KeptHistory& history : kept) history.restore();
    if (!result) {
      why = "its forward raises";
      return {};
    }
    return record(session, call, result, inputs, values, numbers, start);
  } catch (py::error_already_set& error) {
    why = error.what();
    why = why.substr(0, why.find('\n'));
    error.restore();
  } catch (const std::exception& error) {
    why = error.what();
    drop_caught();
  }
  return {};
}

const char* context_taker(PyObject* function_class) {
  static PyObject* const usual = [] {
    const py::object base = imported("torch.autograd.function").attr("_SingleLevelFunction");
    return py::object(base.attr("setup_context")).release().ptr();
  }();
  const Ref<> own = Ref<>::steal(PyObject_GetAttrString(function_class, "setup_context"));
  drop_error();
  return own && own.get() != usual ? "setup_context" : "forward";
}

}  // namespace stator
