// src/backends/fx/expressions.cpp: walks an expression and has Python calculate each step, once.
#include "backends/fx/expressions.h"

#include <stdexcept>

namespace stator::fx {

using shape::ExprKind;

Expressions::Expressions(const shape::Context& context, std::vector<py::object> symbols, py::object apply)
    : context_(context), symbols_(std::move(symbols)), apply_(std::move(apply)) {
  const py::module_ operators = py::module_::import("operator");
  add_ = operators.attr("add");
  multiply_ = operators.attr("mul");
}

py::object Expressions::of(shape::ExprId expr) {
  if (const auto known = made_.find(expr); known != made_.end()) return known->second;
  return made_[expr] = make(expr);
}

py::list Expressions::of(std::span<const shape::Dim> dims) {
  py::list list;
  for (const shape::Dim& dim : dims) list.append(of(dim));
  return list;
}

py::object Expressions::fold(const py::object& function, std::span<const shape::ExprId> operands) {
  py::object result = of(operands[0]);
  for (size_t i = 1; i < operands.size(); i++) result = apply_(function, result, of(operands[i]));
  return result;
}

py::object Expressions::make(shape::ExprId id) {
  const shape::ExprTable& exprs = context_.exprs();
  const shape::Expr& expr = exprs[id];
  const auto operands = exprs.operands(expr);
  const auto function = [](const char* module, const char* name) {
    return py::module_::import(module).attr(name);
  };
  switch (expr.kind) {
    case ExprKind::kConstant:
      return py::int_(expr.number);
    case ExprKind::kSymbol:
      return symbols_.at(static_cast<size_t>(expr.number));
    case ExprKind::kProduct:
      return fold(multiply_, operands);
    case ExprKind::kSum: {
      const auto coefficients = exprs.coefficients(expr);
      py::object result;
      for (size_t i = 0; i < operands.size(); i++) {
        py::object term = of(operands[i]);
        if (coefficients[i] != 1) term = apply_(multiply_, term, py::int_(coefficients[i]));
        result = result ? apply_(add_, result, term) : term;
      }
      if (!result) return py::int_(expr.number);
      return expr.number == 0 ? result : apply_(add_, result, py::int_(expr.number));
    }
    case ExprKind::kFloorDiv:
      return apply_(function("operator", "floordiv"), of(operands[0]), of(operands[1]));
    case ExprKind::kMod:
      return apply_(function("operator", "mod"), of(operands[0]), of(operands[1]));
    case ExprKind::kMin:
      return fold(function("torch", "sym_min"), operands);
    case ExprKind::kMax:
      return fold(function("torch", "sym_max"), operands);
    default:
      throw std::runtime_error("torch.fx has no form of a comparison among the sizes of a graph");
  }
}

}  // namespace stator::fx
