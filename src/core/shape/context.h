// src/core/shape/context.h: the symbols of one capture, their expressions, and the guards that decisions
// leave behind.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/shape/bindings.h"
#include "core/shape/dim.h"
#include "core/shape/expr.h"
#include "core/shape/real.h"
#include "core/user_line.h"

namespace stator::shape {

struct Symbol {
  std::string name;    // s0, s1, …
  std::string source;  // how to read its value again, as text: L["x"].size(0)
  ExprId expr;
  Range range;  // a guard too: simplification relies on it
  std::optional<int64_t> hint;
  std::optional<RealId> follows = {};  // it is no number of the call: every call computes it
};

// A predicate that held at capture and must hold on every hit.
struct SizeGuard {
  ExprId predicate;
  LineId line;
};

// How a symbol stands in a text: s0, or its source, arg0.size(0).
enum class SymbolText : uint8_t { kNames, kSources };

struct RealSymbol {
  std::string name;  // f0, f1, …
  std::string source;
  RealId real;
  std::optional<RealId> follows = {};
};

// Held by std::shared_ptr where symbolic numbers leave the capture's own structures.
class Context : public std::enable_shared_from_this<Context> {
 public:
  Context() = default;
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // A size that changed between calls. 0 and 1 are specialised: such a hint stays a number, and every other
  // size is known to be at least 2, so broadcasting and emptiness need no guard. So do sizes past 2^31. (The
  // caller guards the number itself.)
  Dim size_symbol(int64_t hint, std::string_view source);
  // A Python int that changed; nullopt for 0, 1 and what products of a few could overflow, which stay
  // numbers.
  std::optional<ExprId> int_symbol(int64_t hint, std::string_view source);
  // A Python float that changed. nullopt: there are too many symbols already.
  std::optional<RealId> real_symbol(double hint, std::string_view source);
  // The int that a float is which is whole (math.floor): a symbol that every call computes; 0, 1, and what
  // finds no room stay numbers, guarded. nullopt: no symbol can be this int.
  std::optional<Dim> int_of(RealId whole);
  // A symbol with the value of an expression, computed by every call: for programs that are given it.
  std::optional<RealId> symbol_for(RealId real);
  // Precondition: the name is not taken.
  ExprId add_symbol(std::string_view name, std::string_view source, Range range, std::optional<int64_t> hint);

  ExprTable& exprs() { return exprs_; }
  const ExprTable& exprs() const { return exprs_; }
  std::span<const Symbol> symbols() const { return symbols_; }
  std::optional<ExprId> find_symbol(std::string_view name) const;
  RealTable& reals() { return reals_; }
  const RealTable& reals() const { return reals_; }
  std::span<const RealSymbol> real_symbols() const { return real_symbols_; }

  // The value at capture; nullopt where it depends on a symbol without one or cannot be computed.
  std::optional<int64_t> hint(Dim dim) const;

  // The truth of a predicate at capture; unless the ranges decide it, records a guard that it stays so.
  // Throws std::domain_error where the predicate has no hint, std::overflow_error where no guard can
  // keep its truth.
  bool decide(ExprId predicate, LineId line);
  bool decide(ExprId predicate);
  bool can_decide(ExprId predicate);
  // The number a dimension had at capture, guarded. std::overflow_error where no guard can say so.
  int64_t specialize(Dim dim, LineId line);
  int64_t specialize(Dim dim) { return dim.is_expr() ? specialize(dim, line()) : dim.number(); }
  void add_guard(ExprId predicate, LineId line);
  // A guard that the expression can be computed, unless the ranges say so. Whoever keeps one to be computed
  // by later calls asks for it; guards need none, for they fail where they cannot be computed.
  void require_fits(ExprId expr);
  // The same for floats.
  bool decide(RealGuard::Kind kind, RealId a, RealId b);
  double specialize(RealId real);

  // Says to which line decisions are ascribed; nullptr: to none.
  void follow(UserPlace* place) { place_ = place; }
  LineId line() const { return place_ != nullptr ? place_->line() : LineId::kNone; }

  std::span<const SizeGuard> guards() const { return guards_; }
  std::span<const RealGuard> real_guards() const { return real_guards_; }

  // Checks on a hit, without allocation: bindings holds one number for each symbol.
  // Indices: symbols first (their range), then guards, then those of floats. nullopt: all hold.
  std::optional<size_t> first_failure(std::span<const int64_t> bindings,
                                      std::span<const double> reals = {}) const;
  std::optional<size_t> first_failure(const Bindings& bindings) const {
    return first_failure(std::span(bindings.ints).first(symbols_.size()),
                         std::span(bindings.reals).first(real_symbols_.size()));
  }
  bool has_symbols() const { return !symbols_.empty() || !real_symbols_.empty(); }
  size_t check_count() const { return symbols_.size() + guards_.size() + real_guards_.size(); }
  // `2 <= s0`, `s0*s1 <= 512`
  std::string check_text(size_t index, SymbolText symbols = SymbolText::kNames) const;
  LineId check_line(size_t index) const;  // of the user's code; LineId::kNone for a range
  std::optional<int64_t> evaluate(Dim dim, std::span<const int64_t> bindings) const {
    return dim.is_expr() ? exprs_.evaluate(dim.expr(), bindings) : dim.number();
  }
  double evaluate(RealId real, const Bindings& bindings) const {
    return reals_.evaluate(real, bindings.ints, bindings.reals);
  }

 private:
  Dim new_symbol(int64_t hint, std::string_view source, Range range);
  // Where the difference of an expression and its value has no form.
  void specialize_symbols(ExprId expr, LineId line);

  ExprTable exprs_;
  std::vector<Symbol> symbols_;
  std::vector<SizeGuard> guards_;
  std::unordered_map<ExprId, size_t> guarded_;
  std::unordered_map<RealId, Dim> whole_;
  RealTable reals_{exprs_};
  std::vector<RealSymbol> real_symbols_;
  std::vector<RealGuard> real_guards_;
  std::vector<LineId> real_guard_lines_;
  UserPlace* place_ = nullptr;
};

}  // namespace stator::shape
