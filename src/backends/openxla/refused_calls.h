// src/backends/openxla/refused_calls.h: calls that torch's kernels refuse for what their arguments are,
// whatever those hold.
#pragma once

#include <optional>
#include <string>

#include "core/ir/graph.h"

namespace stator::openxla {

// The first call of the graph that raises in eager code for the element types, sizes, layouts and numbers it
// is given, by its operator's name. Shapes are inferred for many such calls (a variance of integers, a
// product of unequal types), and XLA would compute something. No table says which they are: torch's kernel of
// each call is run on tensors made for it, once in a process for equal calls. Tensors of one alias set share
// memory, as in the program.
std::optional<std::string> refused_call(const ir::Graph& graph);

}  // namespace stator::openxla
