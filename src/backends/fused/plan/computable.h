// src/backends/fused/plan/computable.h: whether a kernel can compute a node, and what the plan must know of
// nodes whose terms are not element by element.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "backends/fused/plan/memory.h"
#include "backends/fused/plan/node_terms.h"
#include "core/ir/graph.h"

namespace stator::fused {

using Dims = std::vector<shape::Dim>;

// Whether a kernel can compute the node at all.
bool computes(const ir::Graph& graph, const Memory& memory, const ir::Node& node, const Rule& rule);

// The dimension, counted from the front, along which a node of the kind `joined` puts tensors together.
std::optional<size_t> joined_dimension(const ir::Graph& graph, const ir::Node& node);

// What a node of the kind `windowed` looks at around each element of its result; height and width.
struct Window {
  std::array<int64_t, 2> size, step, padding, dilation;
};
// Nothing if kernels do not look at such windows.
std::optional<Window> window_of(const ir::Graph& graph, const ir::Node& node);

// The dimensions of a value that repeat its elements in memory, and in which of the others a copy of it is
// made: each element of the rest is stored `times` times.
struct Repeats {
  std::vector<char> is_repeated;  // by dimension
  Dims rest;                      // sizes of the others
  int64_t times = 1;
};
Repeats repeats_of(const ir::Graph& graph, ir::ValueId id);

// The longest row that a kernel reduces. The threads of a CPU do not share one, as torch's do.
constexpr int64_t max_row(Language language) { return language == Language::cuda ? 1 << 18 : 1 << 16; }

}  // namespace stator::fused
