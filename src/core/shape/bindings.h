// src/core/shape/bindings.h: the values that the symbols of a capture have in one call.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace stator::shape {

// Lives on the stack of a call and is filled by the guards of the arguments; a capture makes no more symbols
// than fit, so a hit allocates nothing. Not initialised: a capture without symbols never touches it.
struct Bindings {
  static constexpr size_t kInts = 64;
  static constexpr size_t kReals = 32;
  std::array<int64_t, kInts> ints;
  std::array<double, kReals> reals;
};

}  // namespace stator::shape
