// src/backends/fx/operands.h: operands of a node as the Python objects that a torch.fx node holds.
#pragma once

#include <ATen/core/function_schema.h>
#include <torch/csrc/utils/pybind.h>

#include <functional>
#include <vector>

#include "core/ir/graph.h"

namespace stator::fx {

// What stands for each value so far; no object where it has none.
using ValueObjects = std::vector<py::object>;
// What stands for a size or number that is a symbol or computed of some.
using DimObject = std::function<py::object(shape::Dim)>;
// Makes an object that source text cannot express (a tensor, a generator) part of the module.
using AddConstant = std::function<py::object(py::object)>;

py::object object_of(const ir::Graph& graph, const ir::Operand& operand, const ValueObjects& values,
                     const AddConstant& constant, const DimObject& dim);

// Whether the numbers of a graph are the same ones when Python reads its source text: torch.fx runs graphs as
// text, also those that AOT autograd makes of them, and some complex numbers have none.
bool has_source_text(const ir::Graph& graph);

// Whether the operand is what the schema has as the argument's default: torch.fx graphs leave those out.
bool is_default(const ir::Graph& graph, const ir::Operand& operand, const c10::Argument& argument);

}  // namespace stator::fx
