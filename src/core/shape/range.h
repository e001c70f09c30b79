// src/core/shape/range.h: inclusive integer intervals, for what an expression can be.
#pragma once

#include <algorithm>
#include <cstdint>

namespace stator::shape {

// Of integers of any size, as Python's are: `low == kLowest` says that nothing is known below, `high ==
// kHighest` that nothing is known above. An interval wholly beyond 64 bits is one at the end.
struct Range {
  static constexpr int64_t kLowest = INT64_MIN;
  static constexpr int64_t kHighest = INT64_MAX;

  int64_t low = kLowest;
  int64_t high = kHighest;

  static constexpr Range all() { return {}; }
  static constexpr Range exactly(int64_t number) { return {number, number}; }
  constexpr bool contains(int64_t number) const { return low <= number && number <= high; }
  // Every number in it is an int64.
  constexpr bool is_bounded() const { return low != kLowest && high != kHighest; }
  constexpr bool is_one_number() const { return is_bounded() && low == high; }
  constexpr bool operator==(const Range&) const = default;
};

Range operator+(Range a, Range b);
Range operator*(Range a, Range b);
Range floordiv(Range a, Range b);  // all() where b may be 0
Range mod(Range a, Range b);       // of Python's sign rule; all() where b may be 0
inline Range min(Range a, Range b) { return {std::min(a.low, b.low), std::min(a.high, b.high)}; }
inline Range max(Range a, Range b) { return {std::max(a.low, b.low), std::max(a.high, b.high)}; }

}  // namespace stator::shape
