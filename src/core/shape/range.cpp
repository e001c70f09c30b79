// src/core/shape/range.cpp: interval arithmetic in 128 bits, clamped to the ends.
#include "core/shape/range.h"

namespace stator::shape {
namespace {

__extension__ typedef __int128 Wide;

// Stands for an infinite end; its products with 64-bit numbers still fit and stay beyond the clamp.
constexpr Wide kInfinity = Wide{1} << 63;

Wide widen(int64_t end) {
  if (end == Range::kLowest) return -kInfinity;
  if (end == Range::kHighest) return kInfinity;
  return end;
}

int64_t clamp(Wide number) {
  if (number <= Range::kLowest) return Range::kLowest;
  if (number >= Range::kHighest) return Range::kHighest;
  return static_cast<int64_t>(number);
}

bool is_infinite(int64_t end) { return end == Range::kLowest || end == Range::kHighest; }

// A finite divisor of an infinite end gives an infinite end; a finite end over an infinite divisor gives 0 or
// -1.
Wide divide(int64_t a, int64_t b) {
  if (is_infinite(a)) return (a == Range::kLowest) == (b > 0) ? -kInfinity : kInfinity;
  if (is_infinite(b)) return a == 0 || (a < 0) == (b < 0) ? 0 : -1;
  return floordiv(a, b);
}

}  // namespace

Range operator+(Range a, Range b) {
  // An infinite end stays infinite whatever finite number is added to it.
  int64_t low =
      a.low == Range::kLowest || b.low == Range::kLowest ? Range::kLowest : clamp(Wide{a.low} + b.low);
  int64_t high =
      a.high == Range::kHighest || b.high == Range::kHighest ? Range::kHighest : clamp(Wide{a.high} + b.high);
  return {low, high};
}

Range operator*(Range a, Range b) {
  Wide corners[] = {widen(a.low) * widen(b.low), widen(a.low) * widen(b.high), widen(a.high) * widen(b.low),
                    widen(a.high) * widen(b.high)};
  return {clamp(*std::min_element(corners, corners + 4)), clamp(*std::max_element(corners, corners + 4))};
}

Range floordiv(Range a, Range b) {
  if (b.contains(0)) return Range::all();
  Wide corners[] = {divide(a.low, b.low), divide(a.low, b.high), divide(a.high, b.low),
                    divide(a.high, b.high)};
  return {clamp(*std::min_element(corners, corners + 4)), clamp(*std::max_element(corners, corners + 4))};
}

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
