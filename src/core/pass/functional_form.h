// src/core/pass/functional_form.h: a graph without writes: views and in-place operators as functions of
// values.
//
// Every alias set has a base, the value that named it. A write through a view computes a new base (a scatter
// for each view on the way up); a view that is read after a write is made again from the new base.
#pragma once

#include <string>
#include <vector>

#include "core/ir/graph.h"
#include "core/result.h"

namespace stator::pass {

struct FunctionalForm {
  ir::Graph graph;  // no node writes, and no value is the same tensor as another
  // Inputs that the program writes to, by their numbers. Their new contents are the graph's last outputs, in
  // this order.
  std::vector<size_t> written;
  // Outputs that are an input itself: its number; SIZE_MAX for others. One for each output of the original.
  // The graph returns the others only.
  std::vector<size_t> output_is_input;
};

// The error says what stands in the way: a mode, a random operator that writes, a view without an inverse,
// results that share memory with each other or with an input.
Result<FunctionalForm, std::string> functional_form(const ir::Graph& graph);

}  // namespace stator::pass
