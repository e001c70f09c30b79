// src/core/ir/verify.h: checks that a graph keeps its invariants; run after capture and after every pass.
#pragma once

#include <optional>
#include <string>

#include "core/ir/graph.h"

namespace stator::ir {

// nullopt: the graph is sound. Otherwise what is wrong and where, for a bug report.
//  - every value is defined once, by an input or a node, before its uses; ids and pool ranges are in bounds
//  - same(x) and view(x) name a tensor that the node uses, shares(x) an earlier input; alias sets follow from
//  them
//  - expressions belong to the graph's context and are numbers, not predicates; known sizes are not negative
//  - input names are identifiers and unique; symbols too; texts that print on one line have one line
//  - graph outputs are defined values
std::optional<std::string> verify(const Graph& graph);

}  // namespace stator::ir
