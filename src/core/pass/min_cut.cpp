// src/core/pass/min_cut.cpp: Dinic's algorithm, without recursion.
#include "core/pass/min_cut.h"

#include <algorithm>

namespace stator::pass {

void FlowNetwork::add_edge(uint32_t from, uint32_t to, int64_t capacity) {
  edges_of_[from].push_back(static_cast<uint32_t>(edges_.size()));
  edges_.push_back({to, capacity});
  edges_of_[to].push_back(static_cast<uint32_t>(edges_.size()));
  edges_.push_back({from, 0});
}

bool FlowNetwork::find_levels(uint32_t source, uint32_t sink) {
  levels_.assign(edges_of_.size(), -1);
  levels_[source] = 0;
  std::vector<uint32_t> reached = {source};
  for (size_t i = 0; i < reached.size(); ++i) {
    for (uint32_t e : edges_of_[reached[i]]) {
      const Edge& edge = edges_[e];
      if (edge.left <= 0 || levels_[edge.to] >= 0) continue;
      levels_[edge.to] = levels_[reached[i]] + 1;
      reached.push_back(edge.to);
    }
  }
  return levels_[sink] >= 0;
}

int64_t FlowNetwork::push(uint32_t source, uint32_t sink) {
  std::vector<uint32_t> path;  // edges
  uint32_t at = source;
  while (at != sink) {
    bool found = false;
    for (; next_[at] < edges_of_[at].size(); ++next_[at]) {
      const uint32_t e = edges_of_[at][next_[at]];
      const Edge& edge = edges_[e];
      if (edge.left <= 0 || levels_[edge.to] != levels_[at] + 1) continue;
      path.push_back(e);
      at = edge.to;
      found = true;
      break;
    }
    if (found) continue;
    if (path.empty()) return 0;
    at = edges_[path.back() ^ 1].to;
    path.pop_back();
    ++next_[at];
  }
  int64_t flow = kInfinite;
  for (uint32_t e : path) flow = std::min(flow, edges_[e].left);
  for (uint32_t e : path) {
    edges_[e].left -= flow;
    edges_[e ^ 1].left += flow;
  }
  return flow;
}

std::vector<char> FlowNetwork::sink_side(uint32_t source, uint32_t sink) {
  while (find_levels(source, sink)) {
    next_.assign(edges_of_.size(), 0);
    while (push(source, sink) > 0) {
    }
  }
  // Against the edges that have something left.
  std::vector<char> side(edges_of_.size());
  side[sink] = 1;
  std::vector<uint32_t> reached = {sink};
  for (size_t i = 0; i < reached.size(); ++i) {
    for (uint32_t e : edges_of_[reached[i]]) {
      const uint32_t from = edges_[e].to;
      if (edges_[e ^ 1].left <= 0 || side[from] != 0) continue;
      side[from] = 1;
      reached.push_back(from);
    }
  }
  return side;
}

}  // namespace stator::pass
