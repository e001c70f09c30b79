// src/core/pass/min_cut.h: the cheapest set of edges that separates a source from a sink.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace stator::pass {

class FlowNetwork {
 public:
  static constexpr int64_t kInfinite = std::numeric_limits<int64_t>::max() / 4;

  explicit FlowNetwork(uint32_t nodes) : edges_of_(nodes) {}

  void add_edge(uint32_t from, uint32_t to, int64_t capacity);
  // The nodes on the sink's side of a smallest cut, the one nearest to the sink. Called once.
  // Precondition: every path has an edge that is not infinite.
  std::vector<char> sink_side(uint32_t source, uint32_t sink);

 private:
  struct Edge {
    uint32_t to;
    int64_t left;  // of its capacity; edge i ^ 1 is the same one backwards
  };
  bool find_levels(uint32_t source, uint32_t sink);
  // Flow along one path of falling distance; 0 where there is none.
  int64_t push(uint32_t source, uint32_t sink);

  std::vector<Edge> edges_;
  std::vector<std::vector<uint32_t>> edges_of_;
  std::vector<int32_t> levels_;  // distance from the source; -1: not reached
  std::vector<size_t> next_;     // the first edge that is not exhausted
};

}  // namespace stator::pass
