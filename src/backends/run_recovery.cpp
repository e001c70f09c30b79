// src/backends/run_recovery.cpp: finds what cannot be taken back, and takes back what can.
#include "backends/run_recovery.h"

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <string_view>

#include "core/ir/effects.h"
#include "torch/operators/lasting_effects.h"

namespace stator {
namespace {

c10::Device device_of(const ir::Graph& graph, const ir::Node& node) {
  const ir::Device device = node.output_count != 0 ? graph.value(node.first_output).device : ir::Device{};
  return {static_cast<c10::DeviceType>(device.type), device.index};
}

}  // namespace

RunTraces traces_of(const ir::Graph& graph) {
  LastingEffects lasting(graph);
  RunTraces traces;
  const auto draws_from = [&](c10::Device device) {
    if (std::ranges::find(traces.drawn, device) == traces.drawn.end()) traces.drawn.push_back(device);
  };
  const auto nodes = graph.nodes();
  for (size_t n = 0; n < nodes.size(); n++) {
    const ir::Effects effects = effects_of(graph, nodes[n]);
    traces.has_modes |= effects.mode;
    if (draws(graph, nodes[n])) {
      draws_from(device_of(graph, nodes[n]));
      if (nodes[n].op == ir::op::kCall) draws_from(c10::kCPU);
    }
    if (traces.first != SIZE_MAX || !lasting.is_lasting(nodes[n])) continue;
    traces.first = n;
    size_t written = 0;
    bool is_list = false;
    const auto operands = graph.operands(nodes[n]);
    for (size_t i = 0; i < operands.size(); i++) {
      if (!effects.writes_argument(i)) continue;
      written++;
      is_list |= operands[i].kind != ir::OperandKind::kValue;
    }
    traces.first_is_write = nodes[n].op != ir::op::kCall && !effects.unknown && written == 1 && !is_list;
  }
  return traces;
}

bool left_traces(const RunTraces& traces, size_t node, const std::exception_ptr& error) {
  if (node < traces.first) return false;
  if (node > traces.first || !traces.first_is_write) return true;
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& refused) {
    const std::string_view text = refused.what();
    const auto says = [&](std::string_view part) { return text.find(part) != std::string_view::npos; };
    return !says("is being used in an in-place operation") &&
           !says("don't support automatic differentiation") && !says("refer to a single memory location");
  } catch (...) {
    return true;
  }
}

RandomState::RandomState(const RunTraces& traces) {
  for (const c10::Device& device : traces.drawn) {
    if (!device.is_cpu() && !device.is_cuda()) continue;
    at::Generator generator = at::globalContext().defaultGenerator(device);
    const std::lock_guard<std::mutex> lock(generator.mutex());
    states_.emplace_back(generator, generator.clone());
  }
}

void RandomState::restore() {
  for (auto& [generator, state] : states_) {
    const std::lock_guard<std::mutex> lock(generator.mutex());
    generator.set_state(state.get_state());
  }
}

}  // namespace stator
