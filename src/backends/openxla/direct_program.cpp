// src/backends/openxla/direct_program.cpp: functional form, StableHLO, and a run that is C++ up to jaxlib.
#include "backends/openxla/direct_program.h"

#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/pybind.h>
#include <unistd.h>

#include <algorithm>

#include "backends/fx/input_overlap.h"
#include "backends/openxla/emit/border.h"
#include "backends/openxla/emit/emit.h"
#include "backends/openxla/runtime/executable.h"
#include "core/ir/node_lines.h"
#include "core/ir/print.h"
#include "core/pass/functional_form.h"

namespace stator::openxla {
namespace {

class DirectProgram final : public TensorProgram {
 public:
  DirectProgram(std::shared_ptr<Session> session, pass::FunctionalForm form, Executable executable,
                fx::InputOverlap overlap)
      : session_(std::move(session)),
        form_(std::move(form)),
        executable_(std::move(executable)),
        overlap_(std::move(overlap)) {
    session_->inputs.clear();  // tensors die where the program lets them die
  }

  bool run(PyObject* const* inputs, const shape::Bindings& /*bindings*/, std::vector<Ref<>>& outputs,
           RunFailure& failure) const override {
    try {
      // A forked child has none of XLA's threads: eager code runs there.
      if (getpid() != process_) throw std::runtime_error("XLA cannot be called in a forked process");
      std::vector<at::Tensor> tensors;
      tensors.reserve(executable_.input_count());
      for (size_t i = 0; i < executable_.input_count(); ++i) tensors.push_back(THPVariable_Unpack(inputs[i]));
      std::vector<at::Tensor> results = executable_.run(std::move(tensors));
      failure.of_backend = true;
      size_t next = 0;
      for (size_t input : form_.output_is_input) {
        PyObject* object =
            input == SIZE_MAX ? THPVariable_Wrap(std::move(results[next++])) : Py_NewRef(inputs[input]);
        if (!object) throw py::error_already_set();
        outputs.push_back(Ref<>::steal(object));
      }
      const at::NoGradGuard no_gradients;
      for (size_t input : form_.written) THPVariable_Unpack(inputs[input]).copy_(results[next++]);
      return true;
    } catch (...) {
      // Until the results are there nothing was written.
      failure.untouched = !failure.of_backend;
      torch::translate_exception_to_python(std::current_exception());
      return false;
    }
  }
  bool depends_on_overlap() const override { return overlap_.matters(); }
  bool overlaps_as_captured(PyObject* const* inputs) const override {
    std::vector<const at::Tensor*> tensors;
    for (size_t i = 0; i < executable_.input_count(); ++i) tensors.push_back(&THPVariable_Unpack(inputs[i]));
    return overlap_.is_same(tensors);
  }
  std::string graph_text() const override { return ir::print(session_->graph); }
  size_t node_count() const override { return session_->graph.nodes().size(); }
  std::vector<LineId> node_lines() const override { return ir::node_lines(session_->graph); }

 private:
  std::shared_ptr<Session> session_;
  pass::FunctionalForm form_;
  mutable Executable executable_;  // keeps buffers; guarded by the GIL
  fx::InputOverlap overlap_;
  pid_t process_ = getpid();
};

// Values of no gradient and of plain sizes, all on the CPU.
std::optional<std::string> not_plain(const ir::Graph& graph) {
  const auto is_symbolic = [](const shape::Dim& dim) { return dim.is_expr(); };
  for (size_t i = 0; i < graph.value_count(); ++i) {
    const ir::Value& value = graph.value(static_cast<ir::ValueId>(i));
    if (value.kind == ir::ValueKind::kUndefined || value.kind == ir::ValueKind::kNone) continue;
    if (value.kind != ir::ValueKind::kTensor) return "a value that is no tensor";
    // Parameters may require one, and come back as they are from conversions to their own type.
    const bool is_given = value.node == ir::NodeId::kNone || value.alias == ir::AliasKind::kSame;
    if (value.requires_grad() && !is_given) return "gradients";
    if ((value.flags & (ir::kConjugate | ir::kNegative)) != 0) return "a conjugate view";
    if (value.device.type != ir::DeviceType::kCpu) return "another device";
    if (std::ranges::any_of(graph.sizes(value), is_symbolic) ||
        std::ranges::any_of(graph.strides(value), is_symbolic))
      return "a symbolic size";
  }
  return {};
}

// A result with gaps, or at an offset, is a view of something larger: AOT autograd makes it one.
bool returns_compact(const ir::Graph& original) {
  for (ir::ValueId id : original.outputs()) {
    if (!is_dense(original, id)) return false;
    const shape::Dim offset = original.value(id).storage_offset;
    if (offset.is_expr() || offset.number() != 0) return false;
  }
  return true;
}

}  // namespace

// Why the graph cannot go to the emitter as it was captured; nothing if it can.
static std::optional<std::string> obstacle(const Session& session) {
  if (session.changes_tensors || session.has_read) return "it changes tensors' attributes or reads numbers";
  if (auto reason = not_plain(session.graph)) return reason;
  if (!returns_compact(session.graph)) return "a result is a view of something larger";
  return {};
}

std::unique_ptr<TensorProgram> make_direct_program(const std::shared_ptr<Session>& session,
                                                   PyObject* backend) {
  if (!PyObject_HasAttrString(backend, "compile_stablehlo")) return nullptr;
  const auto refuse = [backend](const std::string& reason) {
    py::handle(backend).attr("not_direct")(reason);
    return nullptr;
  };
  if (const auto reason = obstacle(*session)) return refuse(*reason);
  std::vector<at::Tensor> tensors;
  for (const Session::Lifted& lifted : session->inputs) tensors.push_back(lifted.tensor);
  fx::InputOverlap overlap(session->graph, tensors);
  if (overlap.matters() && !overlap.none()) return refuse("a written input shares memory with another");
  auto form = pass::functional_form(session->graph);
  if (!form) return refuse(form.error());
  const auto text = emit(form->graph, {});
  if (!text) {
    const ir::Graph& graph = form->graph;
    const size_t node = text.error().node;
    const std::string name =
        node < graph.nodes().size() ? graph.op_of(graph.nodes()[node]).name : "the results";
    return refuse(name + ": " + text.error().reason);
  }
  const py::object made = py::handle(backend).attr("compile_stablehlo")(*text, "cpu");
  if (made.is_none()) return nullptr;
  const auto shared = [&](const char* name) { return Ref<>::share(py::object(made.attr(name)).ptr()); };
  Executable executable({shared("execute"), shared("from_dlpack"), shared("to_dlpack"), shared("device")},
                        input_borders(form->graph), output_borders(form->graph));
  return std::make_unique<DirectProgram>(session, std::move(*form), std::move(executable),
                                         std::move(overlap));
}

}  // namespace stator::openxla
