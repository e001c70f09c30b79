// src/core/shape/real.cpp: making and evaluating float expressions.
#include "core/shape/real.h"

#include <bit>
#include <cmath>
#include <limits>

#include "core/shape/expr.h"

namespace stator::shape {

size_t RealTable::Hash::operator()(RealId id) const {
  const Real& real = (*table)[id];
  uint64_t hash = std::bit_cast<uint64_t>(real.number) ^ static_cast<uint64_t>(real.kind);
  for (const uint32_t part : {real.index, static_cast<uint32_t>(real.a), static_cast<uint32_t>(real.b)})
    hash = (hash ^ part) * 0x9e3779b97f4a7c15ULL;
  return hash ^ (hash >> 32);
}

bool RealTable::Equal::operator()(RealId a, RealId b) const {
  const Real &x = (*table)[a], &y = (*table)[b];
  return x.kind == y.kind && x.index == y.index && x.a == y.a && x.b == y.b &&
         std::bit_cast<uint64_t>(x.number) == std::bit_cast<uint64_t>(y.number);
}

RealId RealTable::intern(const Real& real) {
  const auto id = static_cast<RealId>(reals_.size());
  reals_.push_back(real);
  const auto [known, is_new] = ids_.insert(id);
  if (!is_new) reals_.pop_back();
  return *known;
}

RealId RealTable::constant(double number) {
  return intern({.kind = RealKind::kConstant, .number = number, .hint = number});
}

RealId RealTable::add_symbol(double hint) {
  return intern({.kind = RealKind::kSymbol, .index = symbols_++, .hint = hint});
}

RealId RealTable::from_int(ExprId expr, double hint) {
  return intern({.kind = RealKind::kFromInt,
                 .index = static_cast<uint32_t>(expr),
                 .hint = hint,
                 .has_hint = ints_[expr].has_hint});
}

RealId RealTable::add_read() {
  return intern({.kind = RealKind::kRead, .index = reads_++, .has_hint = false});
}

RealId RealTable::binary(RealKind kind, RealId a, RealId b) {
  const double hint = apply(kind, (*this)[a].hint, (*this)[b].hint);
  if ((*this)[a].kind == RealKind::kConstant && (*this)[b].kind == RealKind::kConstant) return constant(hint);
  const bool known = (*this)[a].has_hint && (*this)[b].has_hint;
  return intern({.kind = kind, .a = a, .b = b, .hint = hint, .has_hint = known});
}

RealId RealTable::neg(RealId a) {
  const Real& real = (*this)[a];
  if (real.kind == RealKind::kConstant) return constant(-real.number);
  return intern({.kind = RealKind::kNeg, .a = a, .b = a, .hint = -real.hint, .has_hint = real.has_hint});
}

RealId RealTable::call(RealFunction function, RealId a, RealId b) {
  const Real &x = (*this)[a], &y = (*this)[b];
  const double hint = shape::apply(function, x.hint, y.hint);
  if (x.kind == RealKind::kConstant && y.kind == RealKind::kConstant) return constant(hint);
  const bool known = x.has_hint && y.has_hint;
  return intern({.kind = RealKind::kCall,
                 .index = static_cast<uint32_t>(function),
                 .a = a,
                 .b = b,
                 .hint = hint,
                 .has_hint = known});
}

bool RealTable::may_raise(RealId id) const {
  const Real& real = (*this)[id];
  switch (real.kind) {
    case RealKind::kConstant:
    case RealKind::kSymbol:
    case RealKind::kFromInt:
    case RealKind::kRead:
    case RealKind::kAdd:
    case RealKind::kSub:
    case RealKind::kMul:
    case RealKind::kNeg:
      return false;
    case RealKind::kDiv:
      return (*this)[real.b].kind != RealKind::kConstant || (*this)[real.b].number == 0;
    case RealKind::kPow:
      return true;
    case RealKind::kCall:
      return info(RealFunction{static_cast<uint8_t>(real.index)}).raises;
  }
  return true;
}

double RealTable::apply(RealKind kind, double a, double b) {
  switch (kind) {
    case RealKind::kAdd:
      return a + b;
    case RealKind::kSub:
      return a - b;
    case RealKind::kMul:
      return a * b;
    case RealKind::kDiv:
      return a / b;
    case RealKind::kPow:
      return std::pow(a, b);
    case RealKind::kNeg:
      return -a;
    default:
      return a;
  }
}

double RealTable::evaluate(RealId id, std::span<const int64_t> ints, std::span<const double> reals) const {
  const Real& real = (*this)[id];
  switch (real.kind) {
    case RealKind::kConstant:
      return real.number;
    case RealKind::kSymbol:
      return reals[real.index];
    case RealKind::kFromInt:
      return from_int(ints_.evaluate(ExprId{real.index}, ints));
    case RealKind::kNeg:
      return -evaluate(real.a, ints, reals);
    case RealKind::kCall:
      return shape::apply(RealFunction{static_cast<uint8_t>(real.index)}, evaluate(real.a, ints, reals),
                          evaluate(real.b, ints, reals));
    default:
      return apply(real.kind, evaluate(real.a, ints, reals), evaluate(real.b, ints, reals));
  }
}

double RealTable::from_int(std::optional<int64_t> number) {
  return number ? static_cast<double>(*number) : std::numeric_limits<double>::quiet_NaN();
}

bool RealTable::compare(RealGuard::Kind kind, double a, double b) {
  switch (kind) {
    case RealGuard::Kind::kEqual:
      return a == b;
    case RealGuard::Kind::kLess:
      return a < b;
    case RealGuard::Kind::kLessEqual:
      return a <= b;
    case RealGuard::Kind::kSameBits:
      return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
  }
  return false;
}

bool RealTable::holds(const RealGuard& guard, std::span<const int64_t> ints,
                      std::span<const double> reals) const {
  return compare(guard.kind, evaluate(guard.a, ints, reals), evaluate(guard.b, ints, reals)) ==
         guard.expected;
}

}  // namespace stator::shape
