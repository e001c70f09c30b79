// src/core/shape/context.cpp: making symbols, deciding predicates, checking guards.
#include "core/shape/context.h"

#include <algorithm>
#include <stdexcept>

#include "core/shape/assumed_sizes.h"
#include "core/shape/text.h"

namespace stator::shape {

Dim Context::size_symbol(int64_t hint, std::string_view source) {
  // Bounded, so that few products of sizes need a guard against overflow.
  constexpr int64_t kUsual = int64_t{1} << 20, kMost = int64_t{1} << 31;
  if (hint < 0 || hint > kMost) return hint;
  return new_symbol(hint, source, Range{2, hint <= kUsual ? kUsual : kMost});
}

std::optional<ExprId> Context::int_symbol(int64_t hint, std::string_view source) {
  constexpr int64_t kMost = int64_t{1} << 31;
  if (hint < -kMost || hint > kMost) return std::nullopt;
  const Dim dim = new_symbol(hint, source, Range{-kMost, kMost});
  return dim.is_expr() ? std::optional(dim.expr()) : std::nullopt;
}

std::optional<RealId> Context::real_symbol(double hint, std::string_view source) {
  if (real_symbols_.size() >= Bindings::kReals) return std::nullopt;
  const RealId real = reals_.add_symbol(hint);
  real_symbols_.push_back({"f" + std::to_string(real_symbols_.size()), std::string(source), real});
  return real;
}

std::optional<Dim> Context::int_of(RealId whole) {
  if (const auto known = whole_.find(whole); known != whole_.end()) return known->second;
  constexpr double kMost = int64_t{1} << 31;
  const double hint = reals_[whole].hint;
  if (!(hint >= -kMost && hint <= kMost)) return std::nullopt;
  const auto number = static_cast<int64_t>(hint);
  const auto symbol = int_symbol(number, text(*this, whole, SymbolText::kSources));
  if (symbol) {
    symbols_.back().follows = whole;
  } else {
    decide(RealGuard::Kind::kEqual, whole, reals_.constant(hint));
  }
  return whole_[whole] = symbol ? Dim(*symbol) : Dim(number);
}

std::optional<RealId> Context::symbol_for(RealId real) {
  const auto symbol = real_symbol(reals_[real].hint, text(*this, real, SymbolText::kSources));
  if (symbol) real_symbols_.back().follows = real;
  return symbol;
}

Dim Context::new_symbol(int64_t hint, std::string_view source, Range range) {
  if (hint == 0 || hint == 1 || symbols_.size() >= Bindings::kInts) return hint;
  return add_symbol("s" + std::to_string(symbols_.size()), source, range, hint);
}

ExprId Context::add_symbol(std::string_view name, std::string_view source, Range range,
                           std::optional<int64_t> hint) {
  ExprId expr = exprs_.add_symbol(range, hint);
  symbols_.push_back({std::string(name), std::string(source), expr, range, hint});
  return expr;
}

std::optional<ExprId> Context::find_symbol(std::string_view name) const {
  for (const Symbol& symbol : symbols_) {
    if (symbol.name == name) return symbol.expr;
  }
  return std::nullopt;
}

std::optional<int64_t> Context::hint(Dim dim) const {
  if (!dim.is_expr()) return dim.number();
  const Expr& e = exprs_[dim.expr()];
  if (!e.has_hint) return std::nullopt;
  return e.hint;
}

void Context::add_guard(ExprId predicate, LineId line) {
  if (guarded_.emplace(predicate, guards_.size()).second) guards_.push_back({predicate, line});
}

void Context::require_fits(ExprId expr) {
  // What depends on a number that only the run knows is no guard: Python calculates it there, exactly.
  if (exprs_[expr].may_overflow && exprs_[expr].has_hint) add_guard(exprs_.fits(expr), line());
}

bool Context::can_decide(ExprId predicate) {
  const Expr e = exprs_[predicate];
  return e.has_hint && (e.hint != 0 || exprs_[exprs_.negate(predicate)].has_hint);
}

bool Context::decide(ExprId predicate, LineId line) {
  const Expr e = exprs_[predicate];
  if (e.kind == ExprKind::kConstant) return e.number != 0;
  if (!e.has_hint) {
    if (AssumedSizes::active()) {
      if (const auto known = truth_for_sizes(exprs_, predicate)) return *known;
    }
    throw std::domain_error("the size expression " + text(*this, predicate) + " has no value at capture");
  }
  const bool truth = e.hint != 0;
  const ExprId guard = truth ? predicate : exprs_.negate(predicate);
  if (!exprs_[guard].has_hint) throw std::overflow_error("no guard can keep " + text(*this, predicate));
  add_guard(guard, line);
  return truth;
}

bool Context::decide(ExprId predicate) {
  const Expr& e = exprs_[predicate];
  return e.kind == ExprKind::kConstant ? e.number != 0 : decide(predicate, line());
}

int64_t Context::specialize(Dim dim, LineId line) {
  if (!dim.is_expr()) return dim.number();
  std::optional<int64_t> value = hint(dim);
  if (!value) throw std::domain_error("the size expression " + text(*this, dim) + " has no value at capture");
  const ExprId same = exprs_.eq(dim.expr(), exprs_.constant(*value));
  if (exprs_[same].has_hint) {
    decide(same, line);
  } else {
    specialize_symbols(dim.expr(), line);
  }
  return *value;
}

void Context::specialize_symbols(ExprId expr, LineId line) {
  const Expr e = exprs_[expr];
  if (e.kind == ExprKind::kSymbol) {
    const ExprId same = exprs_.eq(expr, exprs_.constant(e.hint));
    if (!exprs_[same].has_hint) throw std::overflow_error("a symbol at the end of 64 bits");
    decide(same, line);
  }
  for (uint32_t i = 0; i < e.operand_count; ++i) specialize_symbols(exprs_.operands(e)[i], line);
}

bool Context::decide(RealGuard::Kind kind, RealId a, RealId b) {
  const bool truth = RealTable::compare(kind, reals_[a].hint, reals_[b].hint);
  if (reals_[a].kind == RealKind::kConstant && reals_[b].kind == RealKind::kConstant) return truth;
  const RealGuard guard{kind, a, b, truth};
  if (std::ranges::find(real_guards_, guard) == real_guards_.end()) {
    real_guards_.push_back(guard);
    real_guard_lines_.push_back(line());
  }
  return truth;
}

double Context::specialize(RealId real) {
  const double hint = reals_[real].hint;
  decide(RealGuard::Kind::kSameBits, real, reals_.constant(hint));
  return hint;
}

std::optional<size_t> Context::first_failure(std::span<const int64_t> bindings,
                                             std::span<const double> reals) const {
  for (size_t i = 0; i < symbols_.size(); ++i) {
    if (!symbols_[i].range.contains(bindings[i])) return i;
  }
  for (size_t i = 0; i < guards_.size(); ++i) {
    if (exprs_.evaluate(guards_[i].predicate, bindings).value_or(0) == 0) return symbols_.size() + i;
  }
  for (size_t i = 0; i < real_guards_.size(); ++i) {
    if (!reals_.holds(real_guards_[i], bindings, reals)) return symbols_.size() + guards_.size() + i;
  }
  return std::nullopt;
}

std::string Context::check_text(size_t index, SymbolText symbols) const {
  if (index >= symbols_.size() + guards_.size()) {
    const RealGuard& guard = real_guards_[index - symbols_.size() - guards_.size()];
    constexpr const char* kWords[] = {" == ", " < ", " <= ", " == "};
    const std::string comparison = text(*this, guard.a, symbols) + kWords[static_cast<size_t>(guard.kind)] +
                                   text(*this, guard.b, symbols);
    return guard.expected ? comparison : "not " + comparison;
  }
  if (index >= symbols_.size()) return text(*this, guards_[index - symbols_.size()].predicate, symbols);
  const Symbol& symbol = symbols_[index];
  std::string result = symbols == SymbolText::kNames ? symbol.name : symbol.source;
  if (symbol.range.low != Range::kLowest) result = std::to_string(symbol.range.low) + " <= " + result;
  if (symbol.range.high != Range::kHighest) result += " <= " + std::to_string(symbol.range.high);
  return result;
}

LineId Context::check_line(size_t index) const {
  if (index < symbols_.size()) return LineId::kNone;
  index -= symbols_.size();
  return index < guards_.size() ? guards_[index].line : real_guard_lines_[index - guards_.size()];
}

}  // namespace stator::shape
