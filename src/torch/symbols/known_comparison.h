// src/torch/symbols/known_comparison.h: comparisons of numbers that only a run may know.
#pragma once

#include <optional>

#include "torch/symbols/sym_number.h"

namespace stator {

// As compare(), where it does not depend on numbers that only the run knows; nothing otherwise.
std::optional<bool> compare_if_known(Comparison comparison, const SymNumber& a, const SymNumber& b);

}  // namespace stator
