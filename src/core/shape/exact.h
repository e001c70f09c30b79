// src/core/shape/exact.h: Python's integer arithmetic on 64 bits that never wraps: no result instead.
#pragma once

#include <cstdint>
#include <limits>

namespace stator::shape {

// Twice as wide, for what is calculated on the way to an int64.
__extension__ typedef __int128 Wide;

// Each returns false where the result does not fit; *result is unspecified then.
template <class Int>
constexpr bool exact_add(Int a, Int b, Int* result) {
  return !__builtin_add_overflow(a, b, result);
}
template <class Int>
constexpr bool exact_sub(Int a, Int b, Int* result) {
  return !__builtin_sub_overflow(a, b, result);
}
template <class Int>
constexpr bool exact_mul(Int a, Int b, Int* result) {
  return !__builtin_mul_overflow(a, b, result);
}

// The quotient is rounded down, the remainder has the sign of the divisor. False also where b is 0.
template <class Int>
constexpr bool exact_floordiv(Int a, Int b, Int* result) {
  if (b == 0) return false;
  if (b == -1) return exact_sub(Int{0}, a, result);  // a / b would trap for the lowest number
  *result = a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
  return true;
}
template <class Int>
constexpr bool exact_mod(Int a, Int b, Int* result) {
  if (b == 0) return false;
  if (b == -1) return *result = 0, true;
  *result = a % b;
  if (*result != 0 && (*result < 0) != (b < 0)) *result += b;
  return true;
}

constexpr bool fits_int64(Wide number) {
  return number >= std::numeric_limits<int64_t>::min() && number <= std::numeric_limits<int64_t>::max();
}

}  // namespace stator::shape
