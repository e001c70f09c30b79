// src/core/pass/copy_operand.h: an operand of one graph as an operand of another.
#pragma once

#include <functional>

#include "core/ir/graph.h"

namespace stator::pass {

// `value` gives the value of the new graph that stands for one of the old graph's.
ir::Operand copy_operand(const ir::Graph& from, const ir::Operand& operand, ir::Graph& to,
                         const std::function<ir::ValueId(ir::ValueId)>& value);

}  // namespace stator::pass
