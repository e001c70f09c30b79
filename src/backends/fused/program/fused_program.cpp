// src/backends/fused/program/fused_program.cpp: plan, compile, and schedule.
#include "backends/fused/program/fused_program.h"

#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/pybind.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "backends/cuda_graphs/graphed_program.h"
#include "backends/fused/kernel/cuda_text.h"
#include "backends/fused/kernel/llvm_text.h"
#include "backends/fused/plan/plan.h"
#include "backends/fused/program/constant_evaluator.h"
#include "backends/fused/program/cuda_step.h"
#include "backends/fused/program/kernel_step.h"
#include "backends/fused/program/mask_step.h"
#include "backends/fused/program/matrix_step.h"
#include "backends/fused/program/product_step.h"
#include "backends/fused/rewrite/rewrite.h"
#include "backends/fused/training/training_program.h"
#include "backends/fx/overlap_checked.h"
#include "backends/native/tensor_program.h"
#include "core/ir/effects.h"
#include "core/pass/pipeline.h"

namespace stator::fused {
namespace {

// Steps for the kernels of a plan; nothing where they cannot be compiled. Kernels are told apart by their
// text, without its name: equal layers have one function.
using Steps = std::vector<std::unique_ptr<native::Step>>;
constexpr const char* kName = "KERNEL";

py::object compiler_for_cpu() { return py::module_::import("stator.backends.fused.compiler"); }

// Tests run kernels for CUDA on the CPU: something that compiles them, or None.
py::object cuda_emulator() { return compiler_for_cpu().attr("cuda_emulator"); }

Language language_of(const ir::Graph& graph) {
  if (kernel_device(graph).type == ir::DeviceType::kCuda) return Language::cuda;
  return cuda_emulator().is_none() ? Language::llvm : Language::cuda;
}

std::string extent_text(const Extent& extent) {
  return extent.is_number() ? std::to_string(extent.number) : "s" + std::to_string(extent.parameter);
}

Steps compile_for_emulator(const ir::Graph& graph, const Plan& plan, const py::object& emulator) {
  Steps steps;
  for (const KernelPlan& kernel : plan.kernels) {
    const CudaText text = cuda_text(kernel.kernel, kName);
    py::list rows;
    for (size_t d = 0; d < kernel.kernel.rows(); ++d) rows.append(extent_text(kernel.kernel.sizes[d]));
    const py::object address = emulator(cuda_prelude(), text.text, text.threads, text.per_block, rows,
                                        kernel.loads.size() + kernel.stores.size(), kernel.kernel.parameters);
    const auto function = reinterpret_cast<Function>(address.cast<uintptr_t>());
    steps.push_back(make_kernel_step(graph, kernel, function, text.reads_vectors));
  }
  return steps;
}

std::optional<Steps> compile_for_cpu(const ir::Graph& graph, const Plan& plan) {
  const py::object emulator = cuda_emulator();
  if (!emulator.is_none()) return compile_for_emulator(graph, plan, emulator);
  const py::object compiler = compiler_for_cpu();
  py::list texts;
  for (const KernelPlan& kernel : plan.kernels) texts.append(llvm_text(kernel.kernel, kName));
  const py::object addresses = compiler.attr("addresses_of")(llvm_prelude(), texts);
  if (addresses.is_none()) return {};
  Steps steps;
  for (const py::handle& address : addresses) {
    const auto function = reinterpret_cast<Function>(address.cast<uintptr_t>());
    steps.push_back(make_kernel_step(graph, plan.kernels[steps.size()], function));
  }
  return steps;
}

std::optional<Steps> compile_for_cuda(const ir::Graph& graph, const Plan& plan) {
  const py::object compiler = py::module_::import("stator.backends.fused.cuda_compiler");
  std::vector<CudaText> kernels;
  py::list texts;
  for (const KernelPlan& kernel : plan.kernels) {
    kernels.push_back(cuda_text(kernel.kernel, kName));
    texts.append(kernels.back().text);
  }
  const py::object handles =
      compiler.attr("functions_of")(cuda_prelude(), texts, static_cast<int>(plan.device.index));
  if (handles.is_none()) return {};
  Steps steps;
  for (const py::handle& handle : handles) {
    auto* function = reinterpret_cast<void*>(handle.cast<uintptr_t>());
    const size_t i = steps.size();
    steps.push_back(make_cuda_step(graph, plan.kernels[i], kernels[i], function, plan.device));
  }
  return steps;
}

std::optional<Steps> compile(const ir::Graph& graph, const Plan& plan) {
  if (plan.kernels.empty()) return Steps{};
  return plan.device.type == ir::DeviceType::kCuda ? compile_for_cuda(graph, plan)
                                                   : compile_for_cpu(graph, plan);
}

// Nothing of it is recorded, it changes nothing, and its results are memory of their own.
bool records_no_gradient(const ir::Graph& graph, const ir::Node& node) {
  if (!ir::effects_of(graph, node).repeatable()) return false;
  for (ir::ValueId id : ir::Graph::outputs(node)) {
    const ir::Value& value = graph.value(id);
    // Of a result that only a run knows, nothing is known.
    const bool is_known = value.is_tensor() || value.kind == ir::ValueKind::kNone;
    if (!is_known || value.requires_grad() || value.alias != ir::AliasKind::kFresh) return false;
  }
  return true;
}

std::unique_ptr<native::Step> step_of_product(const ir::Graph& graph, const ir::Node& node,
                                              Language language) {
  auto step = make_product_step(graph, node);
  return step || language != Language::cuda ? std::move(step) : make_matrix_step(graph, node);
}

std::vector<native::Scheduled> scheduled(const ir::Graph& graph, const Plan& plan, Steps kernels,
                                         Language language) {
  std::vector<native::Scheduled> schedule;
  uint32_t last = 0;
  for (const Step& step : plan.steps) {
    native::Scheduled scheduled;
    switch (step.kind) {
      case Step::Kind::node:
        last = scheduled.node = step.index;
        scheduled.records_no_gradient = records_no_gradient(graph, graph.nodes()[step.index]);
        if (graph.op_of(graph.nodes()[step.index]).name == kConvertedMask)
          scheduled.step = make_mask_step(graph, graph.nodes()[step.index]);
        else if (scheduled.records_no_gradient)
          scheduled.step = step_of_product(graph, graph.nodes()[step.index], language);
        break;
      case Step::Kind::kernel:
        scheduled.node = plan.kernels[step.index].nodes.front();
        scheduled.step = std::move(kernels[step.index]);
        break;
      case Step::Kind::view:
        scheduled.node = last;
        scheduled.step = make_view_step(graph, ir::ValueId{step.index}, step.root);
        break;
    }
    schedule.push_back(std::move(scheduled));
  }
  return schedule;
}

void optimise(ir::Graph& graph) {
  const auto report = pass::run_passes(graph, {.evaluate = evaluate_constant});
  if (report.error) throw std::logic_error("a pass broke the graph, a bug of Stator's: " + *report.error);
}

// Nothing is left to torch that torch does not know.
bool is_runnable(const ir::Graph& graph, const Plan& plan) {
  return std::ranges::none_of(plan.steps, [&](const Step& step) {
    if (step.kind != Step::Kind::node) return false;
    const std::string& name = graph.op_of(graph.nodes()[step.index]).name;
    return name == kNormOfRows || name == kPaddedLines;
  });
}

// The graph of a session in another form, while it is wanted. The session's inputs are those of the graph, in
// their order.
class OtherGraph {
 public:
  OtherGraph(Session& session, ir::Graph other) : session_(session), kept_(std::move(other)) { exchange(); }
  ~OtherGraph() = default;
  OtherGraph(const OtherGraph&) = delete;
  OtherGraph& operator=(const OtherGraph&) = delete;

  // Back to the old graph.
  void exchange() {
    std::unordered_map<uint32_t, ir::ValueId> now;
    for (size_t i = 0; i < kept_.inputs().size(); ++i)
      now[index(session_.graph.inputs()[i].value)] = kept_.inputs()[i].value;
    for (Session::Lifted& lifted : session_.inputs) lifted.input = now.at(index(lifted.input));
    std::swap(session_.graph, kept_);
  }

 private:
  Session& session_;
  ir::Graph kept_;
};

std::unique_ptr<TensorProgram> without_kernels(std::shared_ptr<Session> session, bool records) {
  if (!records) return native::make_tensor_program(std::move(session));
  native::Program program = cuda_graphs::make_program(*session, native::in_order(session->graph));
  return native::make_tensor_program(std::move(session), std::move(program));
}

}  // namespace

std::optional<native::Program> compiled(ir::Graph& graph,
                                        const std::optional<cuda_graphs::Borders>& borders) {
  const Language language = language_of(graph);
  std::optional<Plan> plan;
  if (language == Language::cuda) {
    auto padded = with_padded_products(graph);
    if (padded) {
      optimise(*padded);
      plan = make_plan(*padded, language, Rounding::every);
      if (is_runnable(*padded, *plan)) {
        graph = std::move(*padded);
      } else {
        plan.reset();
      }
    }
  }
  if (!plan) {
    optimise(graph);
    plan = make_plan(graph, language, Rounding::every);
  }
  std::optional<Steps> kernels = compile(graph, *plan);
  if (!kernels) return {};
  auto schedule = scheduled(graph, *plan, std::move(*kernels), language);
  if (borders) return cuda_graphs::make_program(graph, *borders, std::move(schedule));
  return native::Program(graph, std::move(schedule));
}

std::unique_ptr<TensorProgram> make_tensor_program(std::shared_ptr<Session> session, bool records) {
  // What needs gradients keeps every node: merging some would change the bits of gradients.
  if (!obstacle(session->graph).empty()) {
    auto trained = make_training_program(session, records);
    return trained ? std::move(trained) : without_kernels(std::move(session), records);
  }
  const Language language = language_of(session->graph);
  OtherGraph other(*session, rewritten(session->graph, language));
  optimise(session->graph);
  std::vector<at::Tensor> inputs;
  for (const Session::Lifted& lifted : session->inputs) inputs.push_back(lifted.tensor);
  fx::InputOverlap overlap(session->graph, inputs);
  if (overlap.matters() && !overlap.none()) {
    other.exchange();
    return without_kernels(std::move(session), records);
  }
  const Plan plan = make_plan(session->graph, language, Rounding::stored);
  std::optional<Steps> kernels;
  if (is_runnable(session->graph, plan)) kernels = compile(session->graph, plan);
  if (!kernels) {
    other.exchange();
    return without_kernels(std::move(session), records);
  }
  auto schedule = scheduled(session->graph, plan, std::move(*kernels), language);
  native::Program program = records ? cuda_graphs::make_program(*session, std::move(schedule))
                                    : native::Program(session->graph, std::move(schedule));
  auto made = native::make_tensor_program(std::move(session), std::move(program));
  if (!overlap.matters()) return made;
  return std::make_unique<fx::OverlapChecked>(std::move(made), std::move(overlap), inputs.size());
}

}  // namespace stator::fused
