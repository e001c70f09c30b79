// src/core/pass/functional_form.h: a graph without writes: views and in-place operators as functions of
// values.
//
// Every alias set has a base, the value that named it. A write through a view computes a new base (a scatter
// for each view on the way up); a view that is read after a write is made again from the new base.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/ir/graph.h"
#include "core/result.h"

namespace stator::pass {

// Where an output of the original graph comes from.
struct FormResult {
  // An input itself; an output of the functional graph; a view of one.
  enum class Kind : uint8_t { kInput, kMade, kView } kind = Kind::kMade;
  size_t index = 0;  // of the input, or among the graph's outputs
  // Of a view, on the memory of that output: results share memory as they do in the original.
  std::vector<int64_t> sizes = {}, strides = {};
  int64_t offset = 0;
};

struct FunctionalForm {
  ir::Graph graph;                  // no node writes, and no value is the same tensor as another
  std::vector<FormResult> results;  // one for each output of the original
  // Inputs that the program writes to, by their numbers. Their new contents are the graph's last outputs, in
  // this order.
  std::vector<size_t> written;
};

// The error says what stands in the way: a mode, a random operator that writes, a view without an inverse, a
// result that shares memory with an input, results that are views of one memory as other types.
Result<FunctionalForm, std::string> functional_form(const ir::Graph& graph);

}  // namespace stator::pass
