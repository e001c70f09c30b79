// src/core/ir/node_lines.h: where in the user's code each node of a graph comes from.
#pragma once

#include <vector>

#include "core/ir/graph.h"

namespace stator::ir {

// In the order of the nodes; the lines are those of graph.lines().
inline std::vector<LineId> node_lines(const Graph& graph) {
  std::vector<LineId> lines;
  lines.reserve(graph.nodes().size());
  for (const Node& node : graph.nodes()) lines.push_back(node.line);
  return lines;
}

}  // namespace stator::ir
