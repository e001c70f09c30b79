// src/backends/openxla/emit/border.cpp: the order of dimensions in memory, from strides.
#include "backends/openxla/emit/border.h"

#include <algorithm>
#include <functional>

namespace stator::openxla {

Dims sizes_of(const ir::Graph& graph, ir::ValueId id) {
  Dims result;
  for (const shape::Dim& dim : graph.sizes(id)) {
    if (dim.is_expr()) throw Unsupported{"a symbolic size"};
    result.push_back(dim.number());
  }
  return result;
}

// By the strides, whether compact or not. The identity if they are unknown.
static Dims memory_order(const ir::Graph& graph, ir::ValueId id) {
  const auto strides = graph.strides(id);
  Dims order = range(0, graph.value(id).rank);
  if (strides.empty()) return order;
  const Dims sizes = sizes_of(graph, id);
  // Dimensions of size 1 lie anywhere: they stay where they are.
  Dims sorted;
  for (int64_t at : order) {
    if (sizes[static_cast<size_t>(at)] != 1) sorted.push_back(at);
  }
  std::ranges::stable_sort(sorted, std::greater<>(),
                           [&](int64_t at) { return strides[static_cast<size_t>(at)].number(); });
  auto next = sorted.begin();
  for (int64_t& at : order) {
    if (sizes[static_cast<size_t>(at)] != 1) at = *next++;
  }
  return order;
}

Dims inverse(const Dims& permutation) {
  Dims result(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i)
    result[static_cast<size_t>(permutation[i])] = static_cast<int64_t>(i);
  return result;
}

bool is_dense(const ir::Graph& graph, ir::ValueId id) {
  const auto strides = graph.strides(id);
  if (strides.empty()) return true;
  const Dims sizes = sizes_of(graph, id), order = memory_order(graph, id);
  int64_t expected = 1;
  for (size_t i = order.size(); i-- > 0;) {
    const auto at = static_cast<size_t>(order[i]);
    if (sizes[at] == 0) return true;
    if (sizes[at] != 1 && strides[at].number() != expected) return false;
    expected *= sizes[at];
  }
  return true;
}

Dims border_order(const ir::Graph& graph, ir::ValueId id) {
  return is_dense(graph, id) ? memory_order(graph, id) : range(0, graph.value(id).rank);
}

Dims permuted(const Dims& dims, const Dims& order) {
  Dims result;
  for (int64_t at : order) result.push_back(dims[static_cast<size_t>(at)]);
  return result;
}

}  // namespace stator::openxla
