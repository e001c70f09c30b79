// src/backends/fused/program/product_step.h: a matrix product, by torch's kernel without its dispatcher.
#pragma once

#include <memory>

#include "backends/native/program.h"
#include "core/ir/graph.h"

namespace stator::fused {

// Of a node that is linear, addmm or mm of plain float32 or float64 matrices; null for any other. The kernel
// is the one that torch's operator comes to, so the bits are eager's.
std::unique_ptr<native::Step> make_product_step(const ir::Graph& graph, const ir::Node& node);

}  // namespace stator::fused
