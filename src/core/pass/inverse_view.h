// src/core/pass/inverse_view.h: what is written through a view, as a new value of the view's base.
#pragma once

#include <optional>

#include "core/ir/graph.h"

namespace stator::pass {

// Appends to `to` what computes the base after `part` was written through output `position` of the view node,
// which is one of `from`. `base` and `part` are values of `to`. Nothing if the view has no row in
// inverse_views.def.
std::optional<ir::ValueId> put_back(const ir::Graph& from, const ir::Node& view, uint32_t position,
                                    ir::Graph& to, ir::ValueId base, ir::ValueId part);

}  // namespace stator::pass
