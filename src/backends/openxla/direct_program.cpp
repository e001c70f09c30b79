// src/backends/openxla/direct_program.cpp: functional form, StableHLO, and a run that is C++ up to jaxlib.
#include "backends/openxla/direct_program.h"

#include <c10/core/GradMode.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/pybind.h>
#include <unistd.h>

#include <algorithm>

#include "backends/fx/input_overlap.h"
#include "backends/native/tensor_program.h"
#include "backends/openxla/emit/border.h"
#include "backends/openxla/emit/call.h"
#include "backends/openxla/emit/emit.h"
#include "backends/openxla/refused_calls.h"
#include "backends/openxla/runtime/executable.h"
#include "backends/openxla/runtime/precision.h"
#include "capture/cpython/attribute_lookup.h"
#include "core/ir/effects.h"
#include "core/ir/node_lines.h"
#include "core/ir/print.h"
#include "core/pass/decompose.h"
#include "core/pass/functional_form.h"

namespace stator::openxla {
namespace {

class DirectProgram final : public TensorProgram {
 public:
  DirectProgram(std::shared_ptr<Session> session, pass::FunctionalForm form, Ref<> backend, at::Device place,
                fx::InputOverlap overlap)
      : session_(std::move(session)),
        form_(std::move(form)),
        backend_(std::move(backend)),
        executables_(place, [this](const Precision& precision) { return compiled(precision); }),
        overlap_(std::move(overlap)) {}

  // False: XLA cannot be called in this process. Throws py::error_already_set where the runtime refused it.
  bool compile() const {
    if (!executables_.current()) return false;
    session_->inputs.clear();  // tensors die where the program lets them die
    return true;
  }

  bool run(PyObject* const* inputs, const shape::Bindings& /*bindings*/, std::vector<Ref<>>& outputs,
           RunFailure& failure) const override {
    bool written = false;
    try {
      // A forked child has none of XLA's threads: eager code runs there.
      if (getpid() != process_) throw std::runtime_error("XLA cannot be called in a forked process");
      std::vector<at::Tensor> tensors;
      tensors.reserve(input_count());
      for (size_t i = 0; i < input_count(); ++i) tensors.push_back(THPVariable_Unpack(inputs[i]));
      std::optional<std::vector<at::Tensor>> computed;
      try {
        const std::shared_ptr<Executable> executable = executables_.current();
        if (!executable) throw std::runtime_error("XLA cannot be called");
        computed = executable->run(std::move(tensors));
      } catch (...) {
        failure.of_backend = true;
        throw;
      }
      // An index out of range, a division by zero: eager code raises in its own words.
      if (!computed) throw std::runtime_error("XLA would not raise what eager code does");
      std::vector<at::Tensor>& results = *computed;
      written = true;
      const at::NoGradGuard no_gradients;
      for (const pass::FormResult& result : form_.results) {
        outputs.push_back(Ref<>::steal(object_of(result, inputs, results)));
        if (!outputs.back()) throw py::error_already_set();
      }
      size_t next = results.size() - form_.written.size();
      for (size_t input : form_.written) THPVariable_Unpack(inputs[input]).copy_(results[next++]);
      return true;
    } catch (...) {
      // Until the results are there nothing was written.
      failure.untouched = !written;
      torch::translate_exception_to_python(std::current_exception());
      return false;
    }
  }
  bool depends_on_overlap() const override { return overlap_.matters(); }
  bool overlaps_as_captured(PyObject* const* inputs) const override {
    std::vector<const at::Tensor*> tensors;
    for (size_t i = 0; i < input_count(); ++i) tensors.push_back(&THPVariable_Unpack(inputs[i]));
    return overlap_.is_same(tensors);
  }
  std::string graph_text() const override { return ir::print(session_->graph); }
  size_t node_count() const override { return session_->graph.nodes().size(); }
  std::vector<LineId> node_lines() const override { return ir::node_lines(session_->graph); }

 private:
  size_t input_count() const { return form_.graph.inputs().size(); }

  // A new reference; null where Python raised.
  static PyObject* object_of(const pass::FormResult& result, PyObject* const* inputs,
                             const std::vector<at::Tensor>& made) {
    using Kind = pass::FormResult::Kind;
    if (result.kind == Kind::kInput) return Py_NewRef(inputs[result.index]);
    const at::Tensor& tensor = made[result.index];
    if (result.kind == Kind::kMade) return THPVariable_Wrap(tensor);
    return THPVariable_Wrap(tensor.as_strided(result.sizes, result.strides, result.offset));
  }

  std::shared_ptr<Executable> compiled(const Precision& precision) const {
    const at::Device place = executables_.place();
    // CUDA's own kernels do not raise either, and to ask would be to wait for the device.
    const auto text = emit(form_.graph, {.precision = precision, .checked = place.is_cpu()});
    if (!text) throw std::logic_error("a graph that has rules is refused: " + text.error().reason);
    const py::object made = py::handle(backend_.get()).attr("compile_stablehlo")(text->text, place.str());
    if (made.is_none()) return nullptr;
    return std::make_shared<Executable>(Runtime::of(made.ptr(), place), input_borders(form_.graph),
                                        output_borders(form_.graph), text->tells_if_valid);
  }

  std::shared_ptr<Session> session_;
  pass::FunctionalForm form_;
  Ref<> backend_;
  mutable ByPrecision executables_;
  fx::InputOverlap overlap_;
  pid_t process_ = getpid();
};

at::Device place_of(const ir::Device& device) {
  return device.type == ir::DeviceType::kCpu ? at::Device(at::kCPU) : at::Device(at::kCUDA, device.index);
}

// A write to it is a node of autograd: the program would copy the new contents without one.
bool writes_with_gradient(const ir::Graph& graph) {
  if (!c10::GradMode::is_enabled()) return false;  // modes inside the graph have no functional form
  return std::ranges::any_of(graph.nodes(), [&](const ir::Node& node) {
    bool gradient = false;
    const auto note = [&](ir::ValueId id) { gradient |= graph.value(id).requires_grad(); };
    graph.for_each_use(node, note);
    return gradient && ir::effects_of(graph, node).writes != 0;
  });
}

// Values of no gradient and of plain sizes, all on one device that has a runtime.
std::optional<std::string> not_plain(const ir::Graph& graph, const ir::Device& device) {
  if (device.type != ir::DeviceType::kCpu && device.type != ir::DeviceType::kCuda) return "another device";
  const auto is_symbolic = [](const shape::Dim& dim) { return dim.is_expr(); };
  for (size_t i = 0; i < graph.value_count(); ++i) {
    const ir::Value& value = graph.value(static_cast<ir::ValueId>(i));
    if (value.kind == ir::ValueKind::kUndefined || value.kind == ir::ValueKind::kNone) continue;
    if (value.kind != ir::ValueKind::kTensor) return "a value that is no tensor";
    // Parameters may require one, and come back as they are from conversions to their own type.
    const bool is_given = value.node == ir::NodeId::kNone || value.alias == ir::AliasKind::kSame;
    if (value.requires_grad() && !is_given) return "gradients";
    if ((value.flags & (ir::kConjugate | ir::kNegative)) != 0) return "a conjugate view";
    if (place_of(value.device) != place_of(device)) return "tensors on several devices";
    if (std::ranges::any_of(graph.sizes(value), is_symbolic) ||
        std::ranges::any_of(graph.strides(value), is_symbolic))
      return "a symbolic size";
  }
  return {};
}

// Of the first tensor; the CPU if there is none.
ir::Device device_of(const ir::Graph& graph) {
  for (size_t i = 0; i < graph.value_count(); ++i) {
    const ir::Value& value = graph.value(static_cast<ir::ValueId>(i));
    if (value.kind == ir::ValueKind::kTensor) return value.device;
  }
  return {};
}

// What XLA gives has no gaps: AOT autograd makes results that have some. New contents of inputs are copied.
bool returns_compact(const pass::FunctionalForm& form) {
  const auto outputs = form.graph.outputs();
  return std::ranges::all_of(outputs.first(outputs.size() - form.written.size()),
                             [&](ir::ValueId id) { return is_dense(form.graph, id); });
}

}  // namespace

// Why the graph cannot go to the emitter as it was captured; nothing if it can.
static std::optional<std::string> obstacle(const Session& session, const ir::Device& device) {
  if (session.changes_tensors || session.has_read) return "it changes tensors' attributes or reads numbers";
  if (writes_with_gradient(session.graph)) return "gradients of what is written";
  return not_plain(session.graph, device);
}

std::unique_ptr<TensorProgram> make_direct_program(const std::shared_ptr<Session>& session,
                                                   PyObject* backend) {
  if (!has_attribute(backend, "compile_stablehlo")) return nullptr;
  const auto refuse = [backend](const std::string& reason) {
    py::handle(backend).attr("not_direct")(reason);
    return nullptr;
  };
  if (const auto name = refused_call(session->graph)) {
    (void)refuse(*name + " raises for such arguments: torch's kernels run the graph");
    return native::make_tensor_program(session);
  }
  const ir::Device device = device_of(session->graph);
  if (const auto reason = obstacle(*session, device)) return refuse(*reason);
  std::vector<at::Tensor> tensors;
  for (const Session::Lifted& lifted : session->inputs) tensors.push_back(lifted.tensor);
  fx::InputOverlap overlap(session->graph, tensors);
  if (overlap.any()) return refuse("a written input shares memory with another");
  if (overlap.any_partial()) return refuse("a written input overlaps itself");
  auto form = pass::functional_form(session->graph);
  if (!form) return refuse(form.error());
  if (!returns_compact(*form)) return refuse("a result has gaps");
  form->graph =
      pass::decompose(form->graph, [](std::string_view name) { return find_rule(name) != nullptr; });
  const auto text = emit(form->graph, {});  // which rules there are does not depend on settings
  if (!text) {
    const ir::Graph& graph = form->graph;
    const size_t node = text.error().node;
    const std::string name =
        node < graph.nodes().size() ? graph.op_of(graph.nodes()[node]).name : "the results";
    return refuse(name + ": " + text.error().reason);
  }
  auto program = std::make_unique<DirectProgram>(session, std::move(*form), Ref<>::share(backend),
                                                 place_of(device), std::move(overlap));
  return program->compile() ? std::move(program) : nullptr;
}

}  // namespace stator::openxla
