// src/core/pass/pipeline.h: the passes in order, each verified and timed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/ir/graph.h"
#include "core/pass/fold_constants.h"

namespace stator::pass {

struct PipelineOptions {
  Evaluator evaluate;  // empty: nothing is folded
  bool verify = true;  // also before the first pass
};

struct PassRecord {
  const char* pass;
  int64_t nanoseconds;  // without verification
  size_t nodes_before;
  size_t nodes_after;
};

struct PipelineReport {
  std::vector<PassRecord> passes;
  std::optional<std::string>
      error;  // the pass after which verification failed, and why: the graph is not usable

  std::string text() const;
};

PipelineReport run_passes(ir::Graph& graph, const PipelineOptions& options = {});

}  // namespace stator::pass
