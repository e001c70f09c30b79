// src/backends/openxla/emit/attributes.h: lists of numbers as StableHLO's attributes write them.
#pragma once

#include <span>
#include <string>

namespace stator::openxla {

std::string list_text(std::span<const int64_t> numbers);   // 1, 2
std::string array_text(std::span<const int64_t> numbers);  // array<i64: 1, 2>
std::string pairs_text(std::span<const int64_t> low,
                       std::span<const int64_t> high);  // dense<[[1, 2]]> : tensor<1x2xi64>

}  // namespace stator::openxla
