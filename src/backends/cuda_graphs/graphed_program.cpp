// src/backends/cuda_graphs/graphed_program.cpp: what the recorder must know of a graph.
#include "backends/cuda_graphs/graphed_program.h"

#include <algorithm>
#include <unordered_set>

#include "backends/cuda_graphs/recordable.h"
#include "backends/cuda_graphs/recorded_ranges.h"
#include "core/ir/effects.h"

namespace stator::cuda_graphs {
namespace {

constexpr int64_t kLarge = 4 << 20;  // bytes

// Whether memory that the node reads may be in use once it has run: by a view of it, by autograd, by code
// that is not torch's own.
bool keeps_operands(const ir::Graph& graph, const ir::Node& node) {
  if (!graph.op_of(node).name.starts_with("aten::") || ir::effects_of(graph, node).unknown) return true;
  for (ir::ValueId id : ir::Graph::outputs(node)) {
    const ir::Value& value = graph.value(id);
    if (!value.is_tensor() || value.alias != ir::AliasKind::kFresh || value.requires_grad()) return true;
  }
  return false;
}

GraphFacts facts_of(const ir::Graph& graph, const Borders& borders,
                    const std::vector<native::Scheduled>& schedule) {
  GraphFacts facts;
  facts.lent_from = borders.lent_from;
  const size_t values = graph.value_count();
  facts.alias_set.resize(values);
  facts.is_fixed.resize(values);
  facts.is_used_outside.resize(values);
  for (uint32_t i = 0; i < values; ++i) facts.alias_set[i] = alias_set(graph, i);
  for (size_t i = 0; i < graph.inputs().size(); ++i)
    facts.is_fixed[index(graph.inputs()[i].value)] = borders.is_fixed[i];
  facts.written_sets = written_sets(graph, schedule);
  for (const native::Scheduled& scheduled : schedule) {
    if (scheduled.in_range) continue;
    if (scheduled.step) {
      if (scheduled.step->keeps_nothing) continue;
      for (uint32_t value : scheduled.step->uses) facts.is_used_outside[value] = 1;
    } else if (const ir::Node& node = graph.nodes()[scheduled.node]; keeps_operands(graph, node)) {
      graph.for_each_use(node, [&](ir::ValueId id) { facts.is_used_outside[index(id)] = 1; });
    }
  }
  return facts;
}

// Zero where sizes are not known.
int64_t bytes_of(const ir::Graph& graph, ir::ValueId id) {
  int64_t bytes = static_cast<int64_t>(c10::elementSize(static_cast<c10::ScalarType>(graph.value(id).dtype)));
  for (shape::Dim size : graph.sizes(id)) bytes *= size.is_expr() ? 0 : size.number();
  return bytes;
}

// The last work makes large results in memory of the caller's: to launch it by itself costs less than to copy
// them out of a recording.
void leave_out_large_results(const ir::Graph& graph, const Borders& borders,
                             std::vector<native::Scheduled>& schedule) {
  const auto results = graph.outputs().first(std::min(borders.lent_from, graph.outputs().size()));
  const auto is_large_output = [&](ir::ValueId id) {
    return std::ranges::find(results, id) != results.end() && graph.value(id).is_tensor() &&
           graph.value(id).alias == ir::AliasKind::kFresh && bytes_of(graph, id) >= kLarge;
  };
  for (size_t i = schedule.size(); i-- > 0;) {
    native::Scheduled& last = schedule[i];
    if (!last.in_range) return;
    if (last.step) {
      if (!last.step->keeps_nothing || last.step->makes.empty()) return;
      for (uint32_t value : last.step->makes) {
        if (!is_large_output(ir::ValueId{value})) return;
      }
    } else {
      const ir::Node& node = graph.nodes()[last.node];
      if (node.output_count == 0 || !ir::effects_of(graph, node).repeatable()) return;
      for (ir::ValueId id : ir::Graph::outputs(node)) {
        if (!is_large_output(id)) return;
      }
    }
    last.in_range = false;
  }
}

}  // namespace

std::vector<char> fixed_inputs(const Session& session) {
  std::unordered_set<uint32_t> fixed;
  for (const Session::Lifted& lifted : session.inputs) {
    if (!lifted.tracer.defined()) fixed.insert(index(lifted.input));  // the caller does not give it
  }
  std::vector<char> is_fixed;
  for (const ir::Input& input : session.graph.inputs())
    is_fixed.push_back(fixed.contains(index(input.value)) ? 1 : 0);
  return is_fixed;
}

native::Program make_program(const Session& session, std::vector<native::Scheduled> schedule) {
  return make_program(session.graph, {.is_fixed = fixed_inputs(session)}, std::move(schedule));
}

native::Program make_program(const ir::Graph& graph, const Borders& borders,
                             std::vector<native::Scheduled> schedule) {
  const c10::DeviceType type = emulates_on_cpu() ? c10::DeviceType::CPU : c10::DeviceType::CUDA;
  const auto device = mark_recordable(graph, type, schedule);
  if (!device) return native::Program(graph, std::move(schedule));
  leave_out_large_results(graph, borders, schedule);
  GraphFacts facts = facts_of(graph, borders, schedule);
  native::Program program(graph, std::move(schedule));
  program.run_ranges_by(std::make_shared<RecordedRanges>(program.plain(), std::move(facts), *device));
  return program;
}

}  // namespace stator::cuda_graphs
