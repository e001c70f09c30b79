// src/backends/fx/expressions.h: expressions over symbols as Python objects: torch's symbolic ints, or
// torch.fx nodes that compute them.
#pragma once

#include <torch/csrc/utils/pybind.h>

#include <span>
#include <unordered_map>
#include <vector>

#include "core/shape/context.h"

namespace stator::fx {

class Expressions {
 public:
  // `symbols` has an object for each symbol of the context; `apply(function, a, b)` gives the one of an
  // operation on two objects or ints.
  Expressions(const shape::Context& context, std::vector<py::object> symbols, py::object apply);

  py::object of(shape::Dim dim) { return dim.is_expr() ? of(dim.expr()) : py::int_(dim.number()); }
  py::object of(shape::ExprId expr);
  // A list of ints and objects.
  py::list of(std::span<const shape::Dim> dims);
  // The object for a symbol that a node of the graph gives.
  void know(size_t symbol, py::object object) { symbols_.at(symbol) = std::move(object); }

 private:
  py::object make(shape::ExprId expr);
  py::object fold(const py::object& function, std::span<const shape::ExprId> operands);

  const shape::Context& context_;
  std::vector<py::object> symbols_;
  py::object apply_, add_, multiply_;
  std::unordered_map<shape::ExprId, py::object> made_;
};

}  // namespace stator::fx
