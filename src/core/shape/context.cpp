// src/core/shape/context.cpp: making symbols, deciding predicates, checking guards.
#include "core/shape/context.h"

#include <stdexcept>

#include "core/shape/text.h"

namespace stator::shape {

Dim Context::size_symbol(int64_t hint, std::string_view source) {
  return new_symbol(hint, source, Range{2, Range::kHighest});
}

Dim Context::int_symbol(int64_t hint, std::string_view source) {
  return new_symbol(hint, source, Range::all());
}

Dim Context::new_symbol(int64_t hint, std::string_view source, Range range) {
  if (hint == 0 || hint == 1) return hint;
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

bool Context::decide(ExprId predicate, LineId line) {
  const Expr e = exprs_[predicate];
  if (e.kind == ExprKind::kConstant) return e.number != 0;
  if (!e.has_hint)
    throw std::domain_error("the size expression " + text(*this, predicate) + " has no value at capture");
  bool truth = e.hint != 0;
  add_guard(truth ? predicate : exprs_.negate(predicate), line);
  return truth;
}

int64_t Context::specialize(Dim dim, LineId line) {
  if (!dim.is_expr()) return dim.number();
  std::optional<int64_t> value = hint(dim);
  if (!value) throw std::domain_error("the size expression " + text(*this, dim) + " has no value at capture");
  decide(exprs_.eq(dim.expr(), exprs_.constant(*value)), line);
  return *value;
}

std::optional<size_t> Context::first_failure(std::span<const int64_t> bindings) const {
  for (size_t i = 0; i < symbols_.size(); ++i) {
    if (!symbols_[i].range.contains(bindings[i])) return i;
  }
  for (size_t i = 0; i < guards_.size(); ++i) {
    if (exprs_.evaluate(guards_[i].predicate, bindings).value_or(0) == 0) return symbols_.size() + i;
  }
  return std::nullopt;
}

std::string Context::check_text(size_t index) const {
  if (index >= symbols_.size()) return text(*this, guards_[index - symbols_.size()].predicate);
  const Symbol& symbol = symbols_[index];
  std::string result = symbol.name;
  if (symbol.range.low != Range::kLowest) result = std::to_string(symbol.range.low) + " <= " + result;
  if (symbol.range.high != Range::kHighest) result += " <= " + std::to_string(symbol.range.high);
  return result;
}

}  // namespace stator::shape
