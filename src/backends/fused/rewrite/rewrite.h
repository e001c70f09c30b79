// src/backends/fused/rewrite/rewrite.h: a graph in a form of which kernels can take more.
#pragma once

#include <optional>

#include "backends/fused/plan/plan.h"
#include "core/ir/graph.h"
#include "core/pass/alias_facts.h"

namespace stator::fused {

// Inputs keep their order; what the program can see stays as it is. Precondition: there is no obstacle.
ir::Graph rewritten(const ir::Graph& graph, Language language);

// The passes of it.
// In-place operators on memory that has neither views nor readers outside make a new tensor.
ir::Graph without_own_writes(const ir::Graph& graph);
// A product of float32 adds its bias by an operator of its own: CUDA's products with a bias are slower than
// those without, and the kernel that follows adds it for nothing. So do convolutions, whose bias torch adds
// in a kernel of its own.
ir::Graph with_separate_bias(const ir::Graph& graph);
// A boolean mask is converted once for all layers of attention that convert it alike, by a node of the
// operator kConvertedMask, which has the arguments of attention.
inline constexpr const char* kConvertedMask = "stator::converted_mask";
ir::Graph with_shared_masks(const ir::Graph& graph);
// A product of 16-bit floats whose result has an odd number of columns writes rows that are longer; a copy of
// them is the result.
inline constexpr int64_t kAlignedColumns = 8;
ir::Graph with_padded_rows(const ir::Graph& graph);
// Training: a product of 16-bit matrices of which some have an odd number of elements in a row (or in a
// column, where columns lie behind each other) reads copies with longer rows, by nodes of the operator
// kPaddedLines that only kernels compute: with the kernel that makes the matrix, where there is one. The
// product is a node of the operator kPaddedProduct, which program/matrix_step.cpp computes. Nothing where
// there is no such product.
inline constexpr const char* kPaddedLines = "stator::padded_lines";
inline constexpr const char* kPaddedProduct = "stator::padded_product";
inline constexpr int64_t kPartsOfRows = 1, kPartsOfColumns = 2,
                         kPartsOfInner = 4;  // which dimensions it splits
std::optional<ir::Graph> with_padded_products(const ir::Graph& graph);
// A group norm goes over the last dimensions of its input, the channels split into groups, by a node of the
// operator kNormOfRows that only kernels compute.
inline constexpr const char* kNormOfRows = "stator::norm_of_rows";
ir::Graph with_norms_of_rows(const ir::Graph& graph);
bool norms_groups(const ir::Graph& graph, const pass::AliasFacts& facts, const ir::Node& node);
// Images between convolutions have their channels last.
ir::Graph with_channels_last(const ir::Graph& graph);

}  // namespace stator::fused
