// src/core/shape/context.h: the symbols of one capture, their expressions, and the guards that decisions
// leave behind.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/shape/dim.h"
#include "core/shape/expr.h"
#include "core/user_line.h"

namespace stator::shape {

struct Symbol {
  std::string name;    // s0, s1, …
  std::string source;  // how to read its value again, as text: L["x"].size(0)
  ExprId expr;
  Range range;  // a guard too: simplification relies on it
  std::optional<int64_t> hint;
};

// A predicate that held at capture and must hold on every hit.
struct SizeGuard {
  ExprId predicate;
  LineId line;
};

class Context {
 public:
  // A size that changed between calls. 0 and 1 are specialised: such a hint stays a number, and every other
  // size is known to be at least 2, so broadcasting and emptiness need no guard. (The caller guards the
  // number itself.)
  Dim size_symbol(int64_t hint, std::string_view source);
  // A Python int that changed. 0 and 1 stay numbers; the symbol ranges over all integers.
  Dim int_symbol(int64_t hint, std::string_view source);
  // Precondition: the name is not taken.
  ExprId add_symbol(std::string_view name, std::string_view source, Range range, std::optional<int64_t> hint);

  ExprTable& exprs() { return exprs_; }
  const ExprTable& exprs() const { return exprs_; }
  std::span<const Symbol> symbols() const { return symbols_; }
  std::optional<ExprId> find_symbol(std::string_view name) const;

  // The value at capture; nullopt where it depends on a symbol without one or divides by zero.
  std::optional<int64_t> hint(Dim dim) const;

  // The truth of a predicate at capture; unless the ranges decide it, records a guard that it stays so.
  // Throws std::domain_error where the predicate has no hint.
  bool decide(ExprId predicate, LineId line);
  bool decide(ExprId predicate) { return decide(predicate, line_); }
  // The number a dimension had at capture, guarded.
  int64_t specialize(Dim dim, LineId line);
  int64_t specialize(Dim dim) { return specialize(dim, line_); }
  void add_guard(ExprId predicate, LineId line);

  // The line to which decisions of Size operators are ascribed.
  void set_line(LineId line) { line_ = line; }
  LineId line() const { return line_; }

  std::span<const SizeGuard> guards() const { return guards_; }

  // Checks on a hit, without allocation: bindings holds one number for each symbol.
  // Indices: symbols first (their range), then guards. nullopt: all hold.
  std::optional<size_t> first_failure(std::span<const int64_t> bindings) const;
  std::string check_text(size_t index) const;  // `2 <= s0`, `s0*s1 <= 512`
  std::optional<int64_t> evaluate(Dim dim, std::span<const int64_t> bindings) const {
    return dim.is_expr() ? exprs_.evaluate(dim.expr(), bindings) : dim.number();
  }

 private:
  Dim new_symbol(int64_t hint, std::string_view source, Range range);

  ExprTable exprs_;
  std::vector<Symbol> symbols_;
  std::vector<SizeGuard> guards_;
  std::unordered_map<ExprId, size_t> guarded_;
  LineId line_ = LineId::kNone;
};

}  // namespace stator::shape
