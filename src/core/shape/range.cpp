// src/core/shape/range.cpp: interval arithmetic in 128 bits, clamped to the ends.
#include "core/shape/range.h"

#include "core/shape/exact.h"

namespace stator::shape {
namespace {

// An unknown end: beyond every finite one, and the sum of two fits.
constexpr Wide kInfinity = Wide{1} << 100;

bool is_infinite(Wide end) { return end >= kInfinity || end <= -kInfinity; }

// Only a low end can be minus infinity, and only a high end plus infinity: {INT64_MAX, INT64_MAX} has a
// finite low end.
Wide low_of(Range range) { return range.low == Range::kLowest ? -kInfinity : Wide{range.low}; }
Wide high_of(Range range) { return range.high == Range::kHighest ? kInfinity : Wide{range.high}; }

int64_t clamp(Wide number) {
  if (number <= Range::kLowest) return Range::kLowest;
  if (number >= Range::kHighest) return Range::kHighest;
  return static_cast<int64_t>(number);
}

Wide times(Wide a, Wide b) {
  if (a == 0 || b == 0) return 0;
  if (is_infinite(a) || is_infinite(b)) return (a < 0) == (b < 0) ? kInfinity : -kInfinity;
  return a * b;
}

// Precondition: b is not 0. Over an infinite divisor the quotient tends to 0, from below to -1.
Wide divide(Wide a, Wide b) {
  if (is_infinite(b)) return a == 0 || (a < 0) == (b < 0) ? 0 : -1;
  if (is_infinite(a)) return (a < 0) == (b < 0) ? kInfinity : -kInfinity;
  Wide quotient = 0;
  exact_floordiv(a, b, &quotient);
  return quotient;
}

// Of a function that is monotonous in each of its arguments.
template <class Function>
Range over_corners(Range a, Range b, Function function) {
  const Wide corners[] = {function(low_of(a), low_of(b)), function(low_of(a), high_of(b)),
                          function(high_of(a), low_of(b)), function(high_of(a), high_of(b))};
  return {clamp(*std::min_element(corners, corners + 4)), clamp(*std::max_element(corners, corners + 4))};
}

}  // namespace

Range operator+(Range a, Range b) {
  const Wide low = low_of(a) + low_of(b), high = high_of(a) + high_of(b);
  return {is_infinite(low_of(a)) || is_infinite(low_of(b)) ? Range::kLowest : clamp(low),
          is_infinite(high_of(a)) || is_infinite(high_of(b)) ? Range::kHighest : clamp(high)};
}

Range operator*(Range a, Range b) { return over_corners(a, b, times); }

Range floordiv(Range a, Range b) { return b.contains(0) ? Range::all() : over_corners(a, b, divide); }

Range mod(Range a, Range b) {
  if (b.contains(0)) return Range::all();
  if (b.low > 0) {
    int64_t high = b.high == Range::kHighest ? Range::kHighest : b.high - 1;
    if (a.low >= 0) high = std::min(high, a.high);
    return {0, high};
  }
  return {b.low == Range::kLowest ? Range::kLowest : b.low + 1, 0};
}

}  // namespace stator::shape
