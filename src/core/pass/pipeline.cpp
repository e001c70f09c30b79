// src/core/pass/pipeline.cpp: one line a pass.
#include "core/pass/pipeline.h"

#include <chrono>

#include "core/ir/verify.h"
#include "core/pass/common_subexpressions.h"
#include "core/pass/dead_code.h"

namespace stator::pass {
namespace {

struct Pass {
  const char* name;
  void (*run)(ir::Graph& graph, const PipelineOptions& options);
};

// Dead code first, so that nothing is folded or merged in vain; and last, for what the others left unused.
constexpr Pass kPasses[] = {
    {"dead_code", [](ir::Graph& graph, const PipelineOptions&) { remove_dead_code(graph); }},
    {"fold_constants",
     [](ir::Graph& graph, const PipelineOptions& options) {
       if (options.evaluate) fold_constants(graph, options.evaluate);
     }},
    {"common_subexpressions",
     [](ir::Graph& graph, const PipelineOptions&) { merge_common_subexpressions(graph); }},
    {"dead_code", [](ir::Graph& graph, const PipelineOptions&) { remove_dead_code(graph); }},
};

}  // namespace

PipelineReport run_passes(ir::Graph& graph, const PipelineOptions& options) {
  PipelineReport report;
  auto check = [&](const char* when) {
    if (!options.verify) return true;
    if (auto error = ir::verify(graph)) report.error = std::string(when) + ": " + *error;
    return !report.error;
  };
  if (!check("before the first pass")) return report;
  for (const Pass& pass : kPasses) {
    const size_t before = graph.nodes().size();
    const auto start = std::chrono::steady_clock::now();
    pass.run(graph, options);
    const auto time = std::chrono::steady_clock::now() - start;
    report.passes.push_back({pass.name, std::chrono::duration_cast<std::chrono::nanoseconds>(time).count(),
                             before, graph.nodes().size()});
    if (!check(pass.name)) return report;
  }
  return report;
}

std::string PipelineReport::text() const {
  std::string result;
  for (const PassRecord& record : passes) {
    result += std::string(record.pass) + ": " + std::to_string(record.nodes_before) + " -> " +
              std::to_string(record.nodes_after) + " nodes, " + std::to_string(record.nanoseconds / 1000) +
              " us\n";
  }
  if (error) result += "error: " + *error + "\n";
  return result;
}

}  // namespace stator::pass
