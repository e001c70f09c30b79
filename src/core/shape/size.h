// src/core/shape/size.h: a size to calculate with: a number, or an expression together with its context.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "core/shape/context.h"
#include "core/shape/dim.h"
#include "core/shape/exact.h"

namespace stator::shape {

// Shape rules are written once on this type. Two numbers never touch a context. Comparing with an expression
// decides by the hint and leaves a guard, so a rule reads like one on integers.
class Size {
 public:
  constexpr Size() = default;
  constexpr Size(int64_t number) : dim_(number) {}  // NOLINT: a number is a Size
  // Precondition: an expression comes with its context.
  Size(Dim dim, Context* context) : dim_(dim), context_(dim.is_expr() ? context : nullptr) {}

  bool is_symbolic() const { return context_ != nullptr; }
  Dim dim() const { return dim_; }
  Context* context() const { return context_; }  // nullptr for a number
  // The number at capture, without a guard: for choices that do not change the result, and for messages.
  int64_t hint() const { return context_ ? context_->hint(dim_).value_or(0) : dim_.number(); }
  // The number at capture, guarded.
  int64_t specialize() const { return context_ ? context_->specialize(dim_) : dim_.number(); }

  // Integers as Python's: exact. Where an expression has no form for the result, or the result has more than
  // 64 bits at capture, the operands are specialised; std::overflow_error where it has more than 64 bits
  // then.
  friend Size operator+(Size a, Size b) {
    return apply(a, b, exact_add<int64_t>, [](ExprTable& t, ExprId x, ExprId y) { return t.add(x, y); });
  }
  friend Size operator-(Size a, Size b) {
    return apply(a, b, exact_sub<int64_t>, [](ExprTable& t, ExprId x, ExprId y) { return t.sub(x, y); });
  }
  friend Size operator*(Size a, Size b) {
    return apply(a, b, exact_mul<int64_t>, [](ExprTable& t, ExprId x, ExprId y) { return t.mul(x, y); });
  }
  friend Size operator-(Size a) { return Size(0) - a; }
  // Rounded down, as in Python. Precondition: b is not 0.
  friend Size floordiv(Size a, Size b) {
    return apply(a, b, exact_floordiv<int64_t>,
                 [](ExprTable& t, ExprId x, ExprId y) { return t.floordiv(x, y); });
  }
  friend Size operator%(Size a, Size b) {
    return apply(a, b, exact_mod<int64_t>, [](ExprTable& t, ExprId x, ExprId y) { return t.mod(x, y); });
  }
  friend Size min(Size a, Size b) {
    return apply(
        a, b, [](int64_t x, int64_t y, int64_t* result) { return *result = std::min(x, y), true; },
        [](ExprTable& t, ExprId x, ExprId y) { return t.min(x, y); });
  }
  friend Size max(Size a, Size b) {
    return apply(
        a, b, [](int64_t x, int64_t y, int64_t* result) { return *result = std::max(x, y), true; },
        [](ExprTable& t, ExprId x, ExprId y) { return t.max(x, y); });
  }
  Size& operator+=(Size other) { return *this = *this + other; }
  Size& operator-=(Size other) { return *this = *this - other; }
  Size& operator*=(Size other) { return *this = *this * other; }

  friend bool operator==(Size a, Size b) {
    return decide(
        a, b, [](int64_t x, int64_t y) { return x == y; },
        [](ExprTable& t, ExprId x, ExprId y) { return t.eq(x, y); });
  }
  friend bool operator<(Size a, Size b) {
    return decide(
        a, b, [](int64_t x, int64_t y) { return x < y; },
        [](ExprTable& t, ExprId x, ExprId y) { return t.lt(x, y); });
  }
  friend bool operator<=(Size a, Size b) {
    return decide(
        a, b, [](int64_t x, int64_t y) { return x <= y; },
        [](ExprTable& t, ExprId x, ExprId y) { return t.le(x, y); });
  }
  friend bool operator>(Size a, Size b) { return b < a; }
  friend bool operator>=(Size a, Size b) { return b <= a; }

 private:
  static ExprId expr(Size s, ExprTable& table) {
    return s.context_ ? s.dim_.expr() : table.constant(s.dim_.number());
  }

  template <class OnNumbers, class OnExprs>
  static Size apply(Size a, Size b, OnNumbers on_numbers, OnExprs on_exprs) {
    if (Context* context = a.context_ ? a.context_ : b.context_) {
      ExprTable& table = context->exprs();
      const ExprId result = on_exprs(table, expr(a, table), expr(b, table));
      if (table.is_constant(result)) return table[result].number;
      if (!table.is_unknown(result) && (table[result].has_hint || lacks_hint(a) || lacks_hint(b))) {
        context->require_fits(result);
        return Size(Dim(result), context);
      }
    }
    int64_t number = 0;
    if (!on_numbers(a.specialize(), b.specialize(), &number)) throw_overflow();
    return number;
  }
  template <class OnNumbers, class OnExprs>
  static bool decide(Size a, Size b, OnNumbers on_numbers, OnExprs on_exprs) {
    if (Context* context = a.context_ ? a.context_ : b.context_) {
      ExprTable& table = context->exprs();
      const ExprId predicate = on_exprs(table, expr(a, table), expr(b, table));
      if (context->can_decide(predicate) || lacks_hint(a) || lacks_hint(b)) return context->decide(predicate);
    }
    return on_numbers(a.specialize(), b.specialize());
  }
  static bool lacks_hint(Size s) { return s.context_ && !s.context_->hint(s.dim_); }
  [[noreturn]] static void throw_overflow() { throw std::overflow_error("a size has more than 64 bits"); }

  Dim dim_;
  Context* context_ = nullptr;
};

}  // namespace stator::shape
