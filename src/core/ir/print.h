// src/core/ir/print.h: a graph as text. docs/graph.md describes the format; parse.h reads it back.
#pragma once

#include <string>

#include "core/ir/graph.h"

namespace stator::ir {

struct PrintOptions {
  bool operators = false;  // declare the operators used, with their effects: the text then stands alone
  bool stacks = false;     // whole user stacks with full paths instead of `model.py:42`
};

std::string print(const Graph& graph, PrintOptions options = {});

// Parts, for messages: `f32[2,16]{16,1}` and `aten::add.Tensor(%1, %2, alpha=1)`.
std::string type_text(const Graph& graph, ValueId value);
std::string node_text(const Graph& graph, const Node& node);

}  // namespace stator::ir
