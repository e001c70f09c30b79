// src/backends/openxla/direct_program.cpp: functional form, StableHLO, and a run that is C++ up to jaxlib.
#include "backends/openxla/direct_program.h"

#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/pybind.h>

#include "backends/fx/input_overlap.h"
#include "backends/openxla/emit/border.h"
#include "backends/openxla/emit/emit.h"
#include "backends/openxla/runtime/executable.h"
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
      failure.of_backend = true;
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

 private:
  std::shared_ptr<Session> session_;
  pass::FunctionalForm form_;
  mutable Executable executable_;  // keeps buffers; guarded by the GIL
  fx::InputOverlap overlap_;
};

// Values of no gradient and of plain sizes, all on the CPU.
bool is_plain(const ir::Graph& graph) {
  for (size_t i = 0; i < graph.value_count(); ++i) {
    const ir::Value& value = graph.value(static_cast<ir::ValueId>(i));
    if (value.kind == ir::ValueKind::kUndefined) continue;
    if (value.kind != ir::ValueKind::kTensor && value.kind != ir::ValueKind::kNone) return false;
    const bool of_parameter = value.node == ir::NodeId::kNone;
    if (value.requires_grad() && !of_parameter) return false;
    if ((value.flags & (ir::kConjugate | ir::kNegative)) != 0) return false;
    if (value.device.type != ir::DeviceType::kCpu) return false;
    for (const shape::Dim& dim : graph.sizes(value)) {
      if (dim.is_expr()) return false;
    }
    for (const shape::Dim& dim : graph.strides(value)) {
      if (dim.is_expr()) return false;
    }
  }
  return true;
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

std::unique_ptr<TensorProgram> make_direct_program(const std::shared_ptr<Session>& session,
                                                   PyObject* backend) {
  if (!PyObject_HasAttrString(backend, "compile_stablehlo")) return nullptr;
  const ir::Graph& graph = session->graph;
  if (!is_plain(graph) || !returns_compact(graph) || session->changes_tensors || session->has_read)
    return nullptr;
  std::vector<at::Tensor> tensors;
  for (const Session::Lifted& lifted : session->inputs) tensors.push_back(lifted.tensor);
  fx::InputOverlap overlap(graph, tensors);
  if (overlap.matters() && !overlap.none()) return nullptr;
  auto form = pass::functional_form(graph);
  if (!form) return nullptr;
  const auto text = emit(form->graph, {});
  if (!text) return nullptr;
  const py::object made = py::handle(backend).attr("compile_stablehlo")(*text, "cpu");
  if (made.is_none()) return nullptr;
  const auto shared = [&](const char* name) { return Ref<>::share(py::object(made.attr(name)).ptr()); };
  Executable executable({shared("execute"), shared("from_dlpack"), shared("to_dlpack"), shared("device")},
                        input_borders(form->graph), output_borders(form->graph));
  return std::make_unique<DirectProgram>(session, std::move(*form), std::move(executable),
                                         std::move(overlap));
}

}  // namespace stator::openxla
