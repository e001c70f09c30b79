// src/core/shape/dim.h: the stored form of a size, stride or offset: an int64 that is a number or names an
// expression.
#pragma once

#include <cstdint>

namespace stator::shape {

// An expression of one shape::Context; equal ids are equal expressions because expressions are interned.
enum class ExprId : uint32_t {};

// Eight bytes, no context: what graphs keep by the thousand. Arithmetic is done on shape::Size.
// Expressions occupy [kFirstExpr, kFirstExpr + 2^32), numbers near -2^62 that no size, stride or offset
// takes.
class Dim {
 public:
  constexpr Dim() = default;
  constexpr Dim(int64_t number) : raw_(number) {}  // NOLINT: a number is a Dim
  constexpr Dim(ExprId expr)
      : raw_(kFirstExpr + static_cast<uint32_t>(expr)) {}  // NOLINT: so is an expression

  constexpr bool is_expr() const { return raw_ >= kFirstExpr && raw_ < kFirstExpr + (int64_t{1} << 32); }
  constexpr int64_t number() const { return raw_; }  // precondition: !is_expr()
  constexpr ExprId expr() const { return static_cast<ExprId>(raw_ - kFirstExpr); }  // precondition: is_expr()

  constexpr bool operator==(const Dim&) const = default;

 private:
  static constexpr int64_t kFirstExpr = -(int64_t{1} << 62);
  int64_t raw_ = 0;
};

static_assert(sizeof(Dim) == sizeof(int64_t));

}  // namespace stator::shape
