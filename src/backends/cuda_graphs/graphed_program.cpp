// src/backends/cuda_graphs/graphed_program.cpp: what the recorder must know of a graph.
#include "backends/cuda_graphs/graphed_program.h"

#include "backends/cuda_graphs/recordable.h"
#include "backends/cuda_graphs/recorded_ranges.h"

namespace stator::cuda_graphs {
namespace {

GraphFacts facts_of(const Session& session, const std::vector<native::Scheduled>& schedule) {
  const ir::Graph& graph = session.graph;
  GraphFacts facts;
  const size_t values = graph.value_count();
  facts.alias_set.resize(values);
  facts.is_parameter.resize(values);
  facts.is_used_outside.resize(values);
  for (uint32_t i = 0; i < values; ++i) facts.alias_set[i] = alias_set(graph, i);
  for (const Session::Lifted& lifted : session.inputs)
    facts.is_parameter[index(lifted.input)] = lifted.tracer.defined() ? 0 : 1;
  facts.written_sets = written_sets(graph, schedule);
  for (const native::Scheduled& scheduled : schedule) {
    if (scheduled.in_range) continue;
    if (scheduled.step) {
      for (uint32_t value : scheduled.step->uses) facts.is_used_outside[value] = 1;
    } else {
      graph.for_each_use(graph.nodes()[scheduled.node],
                         [&](ir::ValueId id) { facts.is_used_outside[index(id)] = 1; });
    }
  }
  return facts;
}

}  // namespace

native::Program make_program(const Session& session, std::vector<native::Scheduled> schedule) {
  const c10::DeviceType type = emulates_on_cpu() ? c10::DeviceType::CPU : c10::DeviceType::CUDA;
  const auto device = mark_recordable(session.graph, type, schedule);
  if (!device) return native::Program(session.graph, std::move(schedule));
  GraphFacts facts = facts_of(session, schedule);
  native::Program program(session.graph, std::move(schedule));
  program.run_ranges_by(std::make_shared<RecordedRanges>(program.plain(), std::move(facts), *device));
  return program;
}

}  // namespace stator::cuda_graphs
