// src/bindings/torch/bind_trace.cpp: stator._torch.trace and the Trace it gives.
#include "bindings/torch/bind_trace.h"

#include <ATen/ops/empty_strided.h>
#include <torch/csrc/autograd/python_variable.h>

#include "backends/native/program.h"
#include "core/ir/effects.h"
#include "core/ir/print.h"
#include "core/ir/verify.h"
#include "core/pass/decompose.h"
#include "core/pass/functional_form.h"
#include "torch/inference/inference.h"
#include "torch/inference/rules/registry.h"
#include "torch/tracing/capture_break.h"
#include "torch/tracing/session.h"
#include "torch/tracing/tracer.h"

namespace stator {

namespace {

struct Trace {
  std::shared_ptr<Session> session;
  py::object structure;  // of the outputs, for pytree
  std::vector<py::object> leaves;
  std::vector<bool> is_tensor;
  std::optional<native::Program> program;

  std::string graph() const { return ir::print(session->graph); }

  const native::Program& ready() {
    if (!program) program.emplace(session->graph);
    return *program;
  }
};

py::object pytree(const char* name) { return py::module_::import("torch.utils._pytree").attr(name); }

bool is_tensor(const py::object& object) { return THPVariable_Check(object.ptr()); }

// Traces `function(*args, **kwargs)` with a tracer for every tensor in the arguments.
std::unique_ptr<Trace> trace(const py::object& function, const py::object& args, const py::object& kwargs) {
  auto result = std::make_unique<Trace>();
  result->session = std::make_shared<Session>();
  Session& session = *result->session;
  const py::tuple flat = pytree("tree_flatten")(py::make_tuple(args, kwargs));
  py::list leaves;
  size_t position = 0;
  for (const py::handle& leaf : py::list(flat[0])) {
    py::object object = py::reinterpret_borrow<py::object>(leaf);
    if (is_tensor(object)) {
      const at::Tensor& real = THPVariable_Unpack(object.ptr());
      const std::string name = "arg" + std::to_string(position);
      py::object tracer =
          py::reinterpret_steal<py::object>(THPVariable_Wrap(session.input(real, name, name)));
      if (Py_TYPE(object.ptr()) != Py_TYPE(tracer.ptr())) tracer.attr("__class__") = py::type::of(object);
      object = tracer;
    }
    ++position;
    leaves.append(object);
  }
  const py::tuple call = pytree("tree_unflatten")(leaves, flat[1]);
  session.enter();
  py::object output;
  try {
    output = function(*py::tuple(call[0]), **py::dict(call[1]));
    const py::tuple outputs = pytree("tree_flatten")(output);
    result->structure = outputs[1];
    std::vector<at::Tensor> tensors;
    for (const py::handle& leaf : py::list(outputs[0])) {
      py::object object = py::reinterpret_borrow<py::object>(leaf);
      result->is_tensor.push_back(is_tensor(object));
      if (is_tensor(object)) {
        tensors.push_back(THPVariable_Unpack(object.ptr()));
      } else {
        result->leaves.push_back(object);
      }
    }
    session.finish(tensors);
  } catch (...) {
    session.leave();
    throw;
  }
  session.leave();
  if (session.broken) {
    PyErr_SetString(capture_break_type(), session.broken->detail.c_str());
    throw py::error_already_set();
  }
  return result;
}

// Of the graph: the arguments, then what was lifted.
std::vector<at::Tensor> inputs_of(const Trace& trace, const std::vector<at::Tensor>& arguments) {
  std::vector<at::Tensor> inputs;
  size_t next = 0;
  for (const Session::Lifted& lifted : trace.session->inputs) {
    if (lifted.tracer.defined() && next < arguments.size()) {
      inputs.push_back(arguments[next++]);
    } else {
      inputs.push_back(lifted.tensor);
    }
  }
  return inputs;
}

py::object tree_of(const Trace& trace, const std::vector<c10::IValue>& outputs) {
  py::list leaves;
  size_t tensor = 0, other = 0;
  for (bool is_tensor : trace.is_tensor) {
    if (is_tensor) {
      leaves.append(py::reinterpret_steal<py::object>(THPVariable_Wrap(outputs[tensor++].toTensor())));
    } else {
      leaves.append(trace.leaves[other++]);
    }
  }
  return pytree("tree_unflatten")(leaves, trace.structure);
}

py::object replay(Trace& trace, const std::vector<at::Tensor>& arguments) {
  const std::vector<at::Tensor> inputs = inputs_of(trace, arguments);
  const native::Program& program = trace.ready();
  std::vector<c10::IValue> outputs;
  {
    py::gil_scoped_release release;
    outputs = program.run(inputs, {});
  }
  return tree_of(trace, outputs);
}

// A result of the original graph, of what its functional form computed.
c10::IValue result_of(const pass::FormResult& result, const ir::Graph& graph,
                      const std::vector<at::Tensor>& inputs, const std::vector<c10::IValue>& made) {
  using Kind = pass::FormResult::Kind;
  if (result.kind == Kind::kInput) return inputs[result.index];
  if (result.kind == Kind::kMade) return made[result.index];
  // Kernels that replay another operator than the recorded one may order the base's memory otherwise.
  std::vector<int64_t> sizes, strides;
  const ir::ValueId base = graph.outputs()[result.index];
  for (const shape::Dim& dim : graph.sizes(base)) sizes.push_back(dim.number());
  for (const shape::Dim& dim : graph.strides(base)) strides.push_back(dim.number());
  at::Tensor memory = made[result.index].toTensor();
  if (memory.strides() != at::IntArrayRef(strides))
    memory = at::empty_strided(sizes, strides, memory.options()).copy_(memory);
  return memory.as_strided(result.sizes, result.strides, result.offset);
}

// The functional form with its composites written out, run by torch's kernels: (true, results), or (false,
// the reason why there is none). `keeps`: composites stay whole.
py::tuple replay_functional(Trace& trace, const std::vector<at::Tensor>& arguments, bool keeps) {
  auto form = pass::functional_form(trace.session->graph);
  if (!form) return py::make_tuple(false, form.error());
  const ir::Graph graph = pass::decompose(form->graph, [keeps](std::string_view) { return keeps; });
  if (const auto error = ir::verify(graph)) throw std::logic_error("the functional form: " + *error);
  for (const ir::Node& node : graph.nodes()) {
    if (ir::effects_of(graph, node).writes != 0)
      throw std::logic_error("the functional form writes: " + graph.op_of(node).name);
  }
  const std::vector<at::Tensor> inputs = inputs_of(trace, arguments);
  const native::Program program(graph);
  std::vector<c10::IValue> made, outputs;
  {
    py::gil_scoped_release release;
    made = program.run(inputs, {});
    const at::NoGradGuard no_gradients;
    for (const pass::FormResult& result : form->results)
      outputs.push_back(result_of(result, graph, inputs, made));
    size_t next = made.size() - form->written.size();
    for (size_t input : form->written) inputs[input].copy_(made[next++].toTensor());
  }
  return py::make_tuple(true, tree_of(trace, outputs));
}

py::dict counters(const ShapeCounters& c) {
  py::dict result;
  result["memo_hits"] = c.memo_hits;
  result["rule_calls"] = c.rule_calls;
  result["meta_calls"] = c.meta_calls;
  result["composite_calls"] = c.composite_calls;
  result["dispatched_meta_calls"] = c.dispatched_meta_calls;
  return result;
}

}  // namespace

void bind_trace(py::module_& module) {
  py::class_<Trace>(module, "Trace")
      .def_property_readonly("graph", &Trace::graph)
      .def_property_readonly("counters", [](const Trace& t) { return counters(t.session->counters); })
      .def_property_readonly("node_count", [](const Trace& t) { return t.session->graph.nodes().size(); })
      .def("replay_functional", &replay_functional, py::arg("inputs"), py::arg("keeps"))
      .def("replay", &replay, py::arg("inputs"));
  module.def("clear_memo", &clear_memo);
  module.def("shape_counters", [] { return counters(Session::totals()); });
  module.def("rules", &rule_names);
  module.def("trace", &trace, py::arg("function"), py::arg("args") = py::tuple(),
             py::arg("kwargs") = py::dict());
}

}  // namespace stator
