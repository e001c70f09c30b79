// src/core/ir/effects.h: what one node may do besides computing its outputs: operator flags and hidden
// effects together.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/ir/graph.h"

namespace stator::ir {

struct Effects {
  uint64_t writes = 0;     // as Operator::writes, hidden writes included
  bool random = false;     // draws from or sets a random stream
  bool mode = false;       // changes a mode for the nodes after it
  bool may_raise = false;  // depending on data
  bool unknown = false;    // may do anything

  bool writes_argument(size_t i) const { return (writes >> (i < 63 ? i : 63) & 1) != 0; }
  // Nobody notices if the node is computed once more or once less, apart from its outputs.
  bool repeatable() const { return writes == 0 && !random && !mode && !unknown; }
  // Nobody notices if it is not computed at all.
  bool removable() const { return repeatable() && !may_raise; }
};

Effects effects_of(const Graph& graph, const Node& node);

// Row of hidden_effects.def plus one for an operator name, 0 if there is none.
uint32_t hidden_effect_of(std::string_view operator_name);

// The arguments that it may write though its schema does not say so, as Operator::writes.
uint64_t hidden_writes_of(std::string_view operator_name);

// Whether the operator may raise for what its arguments hold though its schema does not say so.
bool may_raise(std::string_view operator_name);

}  // namespace stator::ir
