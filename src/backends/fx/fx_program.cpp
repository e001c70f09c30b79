// src/backends/fx/fx_program.cpp: hands the graph to a Python backend and calls what it gives back.
#include "backends/fx/fx_program.h"

#include <ATen/PythonTorchFunctionTLS.h>
#include <ATen/ops/scalar_tensor.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/autograd/python_variable.h>

#include <optional>
#include <stdexcept>

#include "backends/fx/convert.h"
#include "backends/fx/operands.h"
#include "backends/fx/overlap_checked.h"
#include "backends/kernel_warnings.h"
#include "backends/native/tensor_program.h"
#include "backends/run_recovery.h"
#include "capture/cpython/attribute_lookup.h"
#include "capture/cpython/error_scope.h"
#include "core/ir/node_lines.h"
#include "core/ir/print.h"
#include "core/shape/text.h"
#include "torch/guards/tensor_guard.h"
#include "torch/tracing/thread_state.h"
#include "torch/tracing/wrapper_tensors.h"

namespace stator::fx {
namespace {

// Whether the captured code has seen to what its class makes of operators. (A `__torch_dispatch__` is asked
// by each node in each run.)
bool is_of_subclass(const at::Tensor& tensor) {
  if (is_wrapper_tensor(tensor)) return false;
  const auto object = Ref<>::steal(THPVariable_Wrap(tensor));
  return object && !is_plain_tensor_type(Py_TYPE(object.get()));
}

InputOverlap overlap_of(const Session& session) {
  std::vector<at::Tensor> tensors;
  for (const Session::Lifted& lifted : session.inputs) tensors.push_back(lifted.tensor);
  return InputOverlap(session.graph, tensors);
}

// Whether every operator stands within an inference mode that the program enters and leaves.
bool is_all_in_inference_mode(const ir::Graph& graph) {
  std::vector<bool> entered{false};
  bool any = false;
  for (const ir::Node& node : graph.nodes()) {
    if (node.op == ir::op::kInferenceEnter) {
      entered.push_back(graph.operands(node)[0].boolean);
    } else if (node.op == ir::op::kInferenceExit) {
      entered.pop_back();
    } else if (!graph.op_of(node).flags.has(ir::OpFlag::kMode)) {
      any = true;
      if (!entered.back()) return false;
    }
  }
  return any && entered.size() == 1;
}

class FxProgram final : public TensorProgram {
 public:
  FxProgram(std::shared_ptr<Session> session, Converted converted, Ref<> callable)
      : session_(std::move(session)),
        module_(Ref<>::steal(converted.module.release().ptr())),
        outputs_(std::move(converted.outputs)),
        callable_(std::move(callable)),
        inputs_(session_->inputs.size()),
        symbols_(symbols_given(session_->shapes())),
        reals_(session_->shapes().real_symbols().size()),
        used_reals_(used_reals(session_->graph)),
        traces_(traces_of(session_->graph)),
        in_inference_mode_(is_all_in_inference_mode(session_->graph)),
        // Nodes that run in their order see every write.
        overlap_(session_->changes_tensors ? std::nullopt : std::optional(overlap_of(*session_))) {
    for (const OutputPlace& output : outputs_) returned_ += output.is_input ? 0 : 1;
    for (size_t i = 0; i < session_->inputs.size(); i++) {
      if (is_of_subclass(session_->inputs[i].tensor)) subclasses_.push_back(i);
    }
    session_->inputs.clear();  // tensors die where the program lets them die
  }

  bool run(PyObject* const* inputs, const shape::Bindings& bindings, std::vector<Ref<>>& outputs,
           RunFailure& failure) const override {
    RandomState random(traces_);
    std::optional<ThreadState> modes;
    if (traces_.has_modes) modes.emplace();
    const bool grad = c10::GradMode::is_enabled();  // code of backends switches it off and may fail then
    const auto fail = [&] {
      if (modes) modes->restore();
      if (c10::GradMode::is_enabled() != grad) c10::GradMode::set_enabled(grad);
      return false;
    };
    KernelWarnings warnings(nullptr);
    // AOT autograd leaves the mode out of what it compiles, and with it that the results are inference
    // tensors.
    std::optional<c10::InferenceMode> inference;
    if (in_inference_mode_) inference.emplace();
    const Ref<> result = subclasses_.empty() ? call(inputs, bindings) : call_plainly(inputs, bindings);
    inference.reset();
    if (size_t node = 0; result && !warnings.show(session_->graph, node)) {
      failure.untouched = traces_.first == SIZE_MAX;
      if (failure.untouched) random.restore();
      return fail();
    }
    if (!result) {
      const size_t node = take_place();
      failure.of_backend = node == SIZE_MAX;
      failure.untouched = traces_.first == SIZE_MAX || node < traces_.first;
      if (node < session_->graph.nodes().size()) failure.line = session_->graph.nodes()[node].line;
      if (failure.untouched) random.restore();
      return fail();
    }
    auto items = Ref<>::steal(
        PySequence_Fast(result.get(), "what a backend returns must give a tuple or list of tensors"));
    if (!items) return fail();
    if (PySequence_Fast_GET_SIZE(items.get()) != returned_) {
      PyErr_Format(PyExc_RuntimeError,
                   "stator: the backend's callable returned %zd values, the graph has %zd",
                   PySequence_Fast_GET_SIZE(items.get()), returned_);
      return fail();
    }
    for (const OutputPlace& output : outputs_) {
      PyObject* tensor = output.is_input
                             ? inputs[output.index]
                             : PySequence_Fast_GET_ITEM(items.get(), static_cast<Py_ssize_t>(output.index));
      outputs.push_back(Ref<>::share(tensor));
    }
    return true;
  }
  bool depends_on_overlap() const override { return overlap_ && overlap_->matters(); }
  bool overlaps_as_captured(PyObject* const* inputs) const override {
    std::vector<const at::Tensor*> tensors;
    for (size_t i = 0; i < inputs_; i++) tensors.push_back(&THPVariable_Unpack(inputs[i]));
    return overlap_->is_same(tensors);
  }
  std::string graph_text() const override { return ir::print(session_->graph); }
  size_t node_count() const override { return session_->graph.nodes().size(); }
  std::vector<LineId> node_lines() const override { return ir::node_lines(session_->graph); }
  PyObject* graph_module() const override { return module_.get(); }

 private:
  // What the classes of inputs make of operators is in the graph already: it is run on plain tensors. Where
  // nodes change what an input is, on the inputs themselves, which torch then treats as plain ones.
  Ref<> call_plainly(PyObject* const* inputs, const shape::Bindings& bindings) const {
    using at::impl::PythonTorchFunctionTLS, at::impl::TorchFunctionDisabledState;
    const auto state = PythonTorchFunctionTLS::get_disabled_state();
    if (state == TorchFunctionDisabledState::ENABLED)
      PythonTorchFunctionTLS::set_disabled_state(TorchFunctionDisabledState::SUBCLASSES_DISABLED);
    std::vector<PyObject*> given(inputs, inputs + inputs_);
    std::vector<Ref<>> plain;
    for (size_t i = 0; i < subclasses_.size() && !session_->changes_tensors; i++) {
      plain.push_back(Ref<>::steal(THPVariable_Wrap(THPVariable_Unpack(inputs[subclasses_[i]]).alias())));
      given[subclasses_[i]] = plain.back().get();
    }
    Ref<> result = call(given.data(), bindings);
    PythonTorchFunctionTLS::set_disabled_state(state);
    return result;
  }
  // The node that has raised the error that is set, where it was a number's (stator.fx.graph.PLACE): the
  // error is the program's then, and comes out of no code of the backend's.
  static size_t take_place() {
    if (!PyErr_Occurred()) return SIZE_MAX;
    Ref<> error = take_error();
    PyObject* const raised = error.get();
    size_t place = SIZE_MAX;
    if (has_attribute(raised, "stator_place")) {
      place = py::handle(raised).attr("stator_place").cast<size_t>();
      py::delattr(raised, "stator_place");
      PyException_SetTraceback(raised, Py_None);
    }
    PyErr_Restore(Py_NewRef(Py_TYPE(raised)), error.release(), PyException_GetTraceback(raised));
    return place;
  }
  // Some floats are only compared, by guards: what is given for them is looked at by nobody.
  static Ref<> unused_real() {
    static PyObject* const zero = THPVariable_Wrap(at::scalar_tensor(0.0, at::kDouble));
    return Ref<>::share(zero);
  }
  // Others are given by nodes.
  static std::vector<size_t> symbols_given(const shape::Context& shapes) {
    std::vector<size_t> given;
    for (size_t i = 0; i < shapes.symbols().size(); i++) {
      if (shapes.symbols()[i].hint) given.push_back(i);
    }
    return given;
  }
  static std::vector<bool> used_reals(const ir::Graph& graph) {
    std::vector<bool> used(graph.value_count());
    const auto note = [&](ir::ValueId value) { used[index(value)] = true; };
    for (const ir::Node& node : graph.nodes()) graph.for_each_use(node, note);
    for (ir::ValueId value : graph.outputs()) note(value);
    std::vector<bool> reals;
    for (const ir::Input& input : graph.inputs()) {
      if (graph.value(input.value).kind == ir::ValueKind::kFloat) reals.push_back(used[index(input.value)]);
    }
    return reals;
  }
  Ref<> call(PyObject* const* inputs, const shape::Bindings& bindings) const {
    if (symbols_.empty() && reals_ == 0)
      return Ref<>::steal(PyObject_Vectorcall(callable_.get(), inputs, inputs_, nullptr));
    std::vector<Ref<>> numbers;
    std::vector<PyObject*> all;
    for (const size_t symbol : symbols_) {
      numbers.push_back(Ref<>::steal(PyLong_FromLongLong(bindings.ints[symbol])));
      if (!numbers.back()) return {};
      all.push_back(numbers.back().get());
    }
    for (size_t i = 0; i < reals_; i++) {
      numbers.push_back(
          used_reals_[i] ? Ref<>::steal(THPVariable_Wrap(at::scalar_tensor(bindings.reals[i], at::kDouble)))
                         : unused_real());
      if (!numbers.back()) return {};
      all.push_back(numbers.back().get());
    }
    all.insert(all.end(), inputs, inputs + inputs_);
    return Ref<>::steal(PyObject_Vectorcall(callable_.get(), all.data(), all.size(), nullptr));
  }

  std::shared_ptr<Session> session_;
  Ref<> module_;
  std::vector<OutputPlace> outputs_;
  Ref<> callable_;
  size_t inputs_;                // tensors
  std::vector<size_t> symbols_;  // ints that come before them
  size_t reals_;                 // floats between the two
  std::vector<bool> used_reals_;
  RunTraces traces_;
  bool in_inference_mode_;
  std::optional<InputOverlap> overlap_;
  Py_ssize_t returned_ = 0;
  std::vector<size_t> subclasses_;  // numbers of inputs that are instances of classes of the program's
};

// An operand of stator.fx.symbols.Symbols.real_comparisons.
shape::RealId real_of(shape::Context& shapes, const py::handle& operand) {
  if (!py::isinstance<py::tuple>(operand)) return shapes.reals().constant(operand.cast<double>());
  const auto row = operand.cast<py::tuple>();
  const auto name = row[0].cast<std::string>();
  if (name == "symbol") return shapes.real_symbols()[row[1].cast<size_t>()].real;
  const auto kind = name == "add"   ? shape::RealKind::kAdd
                    : name == "mul" ? shape::RealKind::kMul
                    : name == "pow" ? shape::RealKind::kPow
                                    : shape::RealKind::kDiv;
  const shape::RealId left = real_of(shapes, row[1]);
  return shapes.reals().binary(kind, left, real_of(shapes, row[2]));
}

// What the backend relied on of the symbols is checked by every call.
void add_guards(shape::Context& shapes, const py::object& symbols) {
  for (const py::handle& each : symbols.attr("real_comparisons")()) {
    const auto row = each.cast<py::tuple>();
    const auto sign = row[0].cast<std::string>();
    const auto kind = sign == "<"    ? shape::RealGuard::Kind::kLess
                      : sign == "<=" ? shape::RealGuard::Kind::kLessEqual
                      : sign == "is" ? shape::RealGuard::Kind::kSameBits
                                     : shape::RealGuard::Kind::kEqual;
    shapes.decide(kind, real_of(shapes, row[1]), real_of(shapes, row[2]));
  }
  const py::list guards = symbols.attr("guards")();
  for (const py::handle& each : guards) {
    const std::string text = each.cast<std::string>();
    const shape::ParsedExpr parsed = shape::parse_expr(shapes, text);
    if (!parsed.error.empty() || parsed.end != text.size() || shapes.exprs().is_unknown(parsed.expr))
      throw std::runtime_error("a guard of a backend has no form here: " + text);
    if (shapes.exprs().is_constant(parsed.expr)) continue;
    shapes.add_guard(parsed.expr, LineId::kNone);
  }
}

}  // namespace

std::unique_ptr<TensorProgram> make_fx_program(std::shared_ptr<Session> session, PyObject* backend,
                                               const std::vector<std::string>& sources) {
  if (!has_source_text(session->graph)) return native::make_tensor_program(std::move(session));
  const std::optional<InputOverlap> overlap =
      session->changes_tensors ? std::nullopt : std::optional(overlap_of(*session));
  if (overlap && overlap->any_partial()) {
    const size_t inputs = session->inputs.size();
    return std::make_unique<OverlapChecked>(native::make_tensor_program(std::move(session)), *overlap,
                                            inputs);
  }
  py::list examples;
  for (const Session::Lifted& lifted : session->inputs) {
    const bool is_plain = !is_of_subclass(lifted.tensor);
    const at::Tensor example =
        is_plain ? lifted.tensor : lifted.tensor.detach().set_requires_grad(lifted.tensor.requires_grad());
    examples.append(py::reinterpret_steal<py::object>(THPVariable_Wrap(example)));
  }
  const auto data_parallel =
      py::reinterpret_borrow<py::object>(session->data_parallel ? session->data_parallel.get() : Py_None);
  // A backend may not do without some floats: those are numbers of the graph that it is given then.
  Converted converted;
  auto callable = py::reinterpret_steal<py::object>(PyFrozenSet_New(nullptr));
  while (py::isinstance<py::frozenset>(callable)) {
    converted = convert(session, examples, sources, callable);
    callable = py::module_::import("stator.backends.invoke")
                   .attr("compile_graph")(py::handle(backend), converted.module, examples, converted.symbols,
                                          overlap && overlap->any(), data_parallel);
  }
  if (callable.is_none()) return nullptr;
  if (!converted.symbols.is_none()) add_guards(session->shapes(), converted.symbols);
  return std::make_unique<FxProgram>(std::move(session), std::move(converted),
                                     Ref<>::steal(callable.release().ptr()));
}

}  // namespace stator::fx
