// src/core/shape/expr.cpp: interning, order, ranges, hints and evaluation of expressions.
#include "core/shape/expr.h"

#include <algorithm>

namespace stator::shape {
namespace {

// Longer ones would make every call slow that computes them: whoever gets `unknown` takes the number instead.
constexpr uint32_t kLongest = 1000;

size_t mix(size_t seed, uint64_t value) {
  return seed ^ (value + 0x9e3779b97f4a7c15ULL + (seed << 6) + (seed >> 2));
}

}  // namespace

ExprTable::ExprTable() : ids_(64, Hash{this}, Equal{this}) {}

ExprId ExprTable::add_symbol(Range range, std::optional<int64_t> hint) {
  auto number = static_cast<int64_t>(symbols_.size());
  Expr expr{.kind = ExprKind::kSymbol,
            .first_operand = static_cast<uint32_t>(operands_.size()),
            .number = number,
            .range = range};
  expr.has_hint = hint.has_value();
  expr.hint = hint.value_or(0);
  auto id = static_cast<ExprId>(exprs_.size());
  exprs_.push_back(expr);
  ids_.insert(id);
  symbols_.push_back(id);
  return id;
}

ExprId ExprTable::constant(int64_t number) { return intern(ExprKind::kConstant, number, {}); }

ExprId ExprTable::unknown() { return intern(ExprKind::kUnknown, 0, {}); }

size_t ExprTable::Hash::operator()(ExprId id) const {
  const Expr& expr = (*table)[id];
  size_t seed = mix(static_cast<size_t>(expr.kind), static_cast<uint64_t>(expr.number));
  for (ExprId operand : table->operands(expr)) seed = mix(seed, static_cast<uint64_t>(operand));
  for (int64_t coefficient : table->coefficients(expr)) seed = mix(seed, static_cast<uint64_t>(coefficient));
  return seed;
}

bool ExprTable::Equal::operator()(ExprId a, ExprId b) const {
  const Expr &x = (*table)[a], &y = (*table)[b];
  return x.kind == y.kind && x.number == y.number &&
         std::ranges::equal(table->operands(x), table->operands(y)) &&
         std::ranges::equal(table->coefficients(x), table->coefficients(y));
}

ExprId ExprTable::intern(ExprKind kind, int64_t number, std::span<const ExprId> operands,
                         std::span<const int64_t> coefficients) {
  uint32_t length = 1;
  for (ExprId operand : operands) {
    length += (*this)[operand].length;
    if (is_unknown(operand) || (length > kLongest && kind < ExprKind::kFits)) return unknown();
  }
  // Placed at the end first, so that the set compares it in place; taken away again if it was known.
  Expr expr{.kind = kind,
            .first_operand = static_cast<uint32_t>(operands_.size()),
            .operand_count = static_cast<uint32_t>(operands.size()),
            .length = length,
            .number = number,
            .range = {}};
  auto id = static_cast<ExprId>(exprs_.size());
  operands_.insert(operands_.end(), operands.begin(), operands.end());
  coefficients_.insert(coefficients_.end(), coefficients.begin(), coefficients.end());
  coefficients_.resize(operands_.size(), 1);
  exprs_.push_back(expr);
  auto [known, is_new] = ids_.insert(id);
  if (!is_new) {
    operands_.resize(expr.first_operand);
    coefficients_.resize(expr.first_operand);
    exprs_.pop_back();
    return *known;
  }
  Expr& kept = exprs_.back();
  kept.range = range_of(kept, &kept.may_overflow);
  kept.has_hint = value_of(kept, &kept.hint, [this](ExprId operand, int64_t* value) {
    *value = (*this)[operand].hint;
    return (*this)[operand].has_hint;
  });
  return id;
}

ExprId ExprTable::intern(ExprKind kind, ExprId a, ExprId b) {
  const ExprId operands[] = {a, b};
  return intern(kind, 0, operands);
}

int ExprTable::compare(ExprId a, ExprId b) const {
  if (a == b) return 0;
  const Expr &x = (*this)[a], &y = (*this)[b];
  if (x.kind != y.kind) return x.kind < y.kind ? -1 : 1;
  auto xs = operands(x), ys = operands(y);
  // Products of higher degree first: s0*s1 + s0, as people write polynomials.
  if (xs.size() != ys.size()) return xs.size() > ys.size() ? -1 : 1;
  for (size_t i = 0; i < xs.size(); ++i) {
    if (int order = compare(xs[i], ys[i])) return order;
    int64_t p = coefficients(x)[i], q = coefficients(y)[i];
    if (p != q) return p < q ? -1 : 1;
  }
  return x.number < y.number ? -1 : 1;
}

// Step by step in the order in which values are calculated: what cannot overflow here cannot overflow there.
Range ExprTable::range_of(const Expr& e, bool* may_overflow) const {
  auto args = operands(e);
  for (ExprId arg : args) *may_overflow |= (*this)[arg].may_overflow;
  auto range = [&](size_t i) { return (*this)[args[i]].range; };
  auto checked = [&](Range result) {
    *may_overflow |= !result.is_bounded();
    return result;
  };
  switch (e.kind) {
    case ExprKind::kConstant:
      return Range::exactly(e.number);
    case ExprKind::kSymbol:
      return e.range;
    case ExprKind::kSum: {
      Range sum = Range::exactly(e.number);
      for (size_t i = 0; i < args.size(); ++i) {
        const int64_t coefficient = coefficients(e)[i];
        sum = checked(sum + (coefficient == 1 ? range(i) : checked(Range::exactly(coefficient) * range(i))));
      }
      return sum;
    }
    case ExprKind::kProduct: {
      Range product = range(0);
      for (size_t i = 1; i < args.size(); ++i) product = checked(product * range(i));
      return product;
    }
    case ExprKind::kFloorDiv: {
      const Range quotient = shape::floordiv(range(0), range(1));
      // Nothing but the lowest number over -1 is larger than what is divided.
      if (range(0).contains(Range::kLowest) && range(1).contains(-1)) *may_overflow = true;
      return quotient;
    }
    case ExprKind::kMod:
      return shape::mod(range(0), range(1));
    case ExprKind::kMin:
    case ExprKind::kMax: {
      Range all = range(0);
      for (size_t i = 1; i < args.size(); ++i) {
        all = e.kind == ExprKind::kMin ? shape::min(all, range(i)) : shape::max(all, range(i));
      }
      return all;
    }
    case ExprKind::kUnknown:
      *may_overflow = true;
      return Range::all();
    case ExprKind::kFits:
    case ExprKind::kEqZero:
    case ExprKind::kNeZero:
    case ExprKind::kLeZero:
      return {0, 1};
  }
  return Range::all();
}

// Computes one node from its operands' values; false where that is not possible.
template <class ValueOf>
bool ExprTable::value_of(const Expr& e, int64_t* value, ValueOf&& operand_value) const {
  auto args = operands(e);
  int64_t x = 0;
  if (e.kind == ExprKind::kConstant) return *value = e.number, true;
  if (e.kind == ExprKind::kSum) {
    int64_t sum = e.number;
    for (size_t i = 0; i < args.size(); ++i) {
      if (!operand_value(args[i], &x) || !exact_mul(coefficients(e)[i], x, &x) || !exact_add(sum, x, &sum))
        return false;
    }
    return *value = sum, true;
  }
  if (args.empty() || !operand_value(args[0], value)) return false;
  for (ExprId arg : args.subspan(1)) {
    if (!operand_value(arg, &x)) return false;
    switch (e.kind) {
      case ExprKind::kProduct:
        if (!exact_mul(*value, x, value)) return false;
        break;
      case ExprKind::kMin:
        *value = std::min(*value, x);
        break;
      case ExprKind::kMax:
        *value = std::max(*value, x);
        break;
      case ExprKind::kFloorDiv:
        if (!exact_floordiv(*value, x, value)) return false;
        break;
      default:  // kMod
        if (!exact_mod(*value, x, value)) return false;
    }
  }
  if (e.kind == ExprKind::kFits) *value = 1;
  if (e.kind == ExprKind::kEqZero) *value = *value == 0;
  if (e.kind == ExprKind::kNeZero) *value = *value != 0;
  if (e.kind == ExprKind::kLeZero) *value = *value <= 0;
  return true;
}

std::optional<int64_t> ExprTable::evaluate(ExprId id, std::span<const int64_t> bindings) const {
  auto visit = [&](auto&& self, ExprId at, int64_t* value) -> bool {
    const Expr& expr = (*this)[at];
    if (expr.kind == ExprKind::kSymbol) return *value = bindings[static_cast<size_t>(expr.number)], true;
    return value_of(expr, value,
                    [&](ExprId operand, int64_t* result) { return self(self, operand, result); });
  };
  int64_t value = 0;
  if (!visit(visit, id, &value)) return std::nullopt;
  return value;
}

}  // namespace stator::shape
