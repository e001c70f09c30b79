// src/core/shape/size.h: a size to calculate with: a number, or an expression together with its context.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/shape/context.h"
#include "core/shape/dim.h"

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

  friend Size operator+(Size a, Size b) {
    return apply(a, b, wrap_add, [](ExprTable& t, ExprId x, ExprId y) { return t.add(x, y); });
  }
  friend Size operator-(Size a, Size b) {
    return apply(
        a, b, [](int64_t x, int64_t y) { return wrap_add(x, wrap_mul(y, -1)); },
        [](ExprTable& t, ExprId x, ExprId y) { return t.sub(x, y); });
  }
  friend Size operator*(Size a, Size b) {
    return apply(a, b, wrap_mul, [](ExprTable& t, ExprId x, ExprId y) { return t.mul(x, y); });
  }
  friend Size operator-(Size a) { return Size(0) - a; }
  // Rounded down, as in Python. Precondition: b is not 0.
  friend Size floordiv(Size a, Size b) {
    return apply(
        a, b, [](int64_t x, int64_t y) { return shape::floordiv(x, y); },
        [](ExprTable& t, ExprId x, ExprId y) { return t.floordiv(x, y); });
  }
  friend Size operator%(Size a, Size b) {
    return apply(
        a, b, [](int64_t x, int64_t y) { return shape::mod(x, y); },
        [](ExprTable& t, ExprId x, ExprId y) { return t.mod(x, y); });
  }
  friend Size min(Size a, Size b) {
    return apply(
        a, b, [](int64_t x, int64_t y) { return std::min(x, y); },
        [](ExprTable& t, ExprId x, ExprId y) { return t.min(x, y); });
  }
  friend Size max(Size a, Size b) {
    return apply(
        a, b, [](int64_t x, int64_t y) { return std::max(x, y); },
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
    Context* context = a.context_ ? a.context_ : b.context_;
    if (!context) return on_numbers(a.dim_.number(), b.dim_.number());
    ExprTable& table = context->exprs();
    ExprId result = on_exprs(table, expr(a, table), expr(b, table));
    if (table.is_constant(result)) return table[result].number;
    return Size(Dim(result), context);
  }
  template <class OnNumbers, class OnExprs>
  static bool decide(Size a, Size b, OnNumbers on_numbers, OnExprs on_exprs) {
    Context* context = a.context_ ? a.context_ : b.context_;
    if (!context) return on_numbers(a.dim_.number(), b.dim_.number());
    ExprTable& table = context->exprs();
    return context->decide(on_exprs(table, expr(a, table), expr(b, table)));
  }

  Dim dim_;
  Context* context_ = nullptr;
};

}  // namespace stator::shape
