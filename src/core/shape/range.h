// src/core/shape/range.h: inclusive integer intervals with saturating arithmetic, for what an expression can
// be.
#pragma once

#include <algorithm>
#include <cstdint>

namespace stator::shape {

// The ends INT64_MIN and INT64_MAX stand for minus and plus infinity.
struct Range {
  static constexpr int64_t kLowest = INT64_MIN;
  static constexpr int64_t kHighest = INT64_MAX;

  int64_t low = kLowest;
  int64_t high = kHighest;

  static constexpr Range all() { return {}; }
  static constexpr Range exactly(int64_t number) { return {number, number}; }
  constexpr bool contains(int64_t number) const { return low <= number && number <= high; }
  constexpr bool operator==(const Range&) const = default;
};

Range operator+(Range a, Range b);
Range operator*(Range a, Range b);
Range floordiv(Range a, Range b);  // all() where b may be 0
Range mod(Range a, Range b);       // of Python's sign rule; all() where b may be 0
inline Range min(Range a, Range b) { return {std::min(a.low, b.low), std::min(a.high, b.high)}; }
inline Range max(Range a, Range b) { return {std::max(a.low, b.low), std::max(a.high, b.high)}; }

// Modulo 2^64, so that an overflow in a user's expression is no undefined behaviour here.
constexpr int64_t wrap_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
constexpr int64_t wrap_mul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

// Python's integer division and remainder: the quotient is rounded down. Precondition: b != 0.
constexpr int64_t floordiv(int64_t a, int64_t b) {
  if (b == -1) return wrap_mul(a, -1);
  int64_t quotient = a / b;
  return quotient - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}
constexpr int64_t mod(int64_t a, int64_t b) {
  if (b == -1) return 0;
  int64_t remainder = a % b;
  return remainder + ((remainder != 0 && (remainder < 0) != (b < 0)) ? b : 0);
}

}  // namespace stator::shape
