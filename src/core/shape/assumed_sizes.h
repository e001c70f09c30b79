// src/core/shape/assumed_sizes.h: what shape rules take for granted of sizes that only a run knows.
#pragma once

#include <optional>

#include "core/shape/expr.h"

namespace stator::shape {

// While one of these lives, predicates on symbols without a value are decided as for sizes of at least 2:
// broadcasting and emptiness look the same for all of those, and torch's own tracing assumes no less. Only
// what holds for every such size is decided. Of this thread.
class AssumedSizes {
 public:
  // `equal`: also that sizes which are compared are equal, and none too small, where the kernel of the run
  // refuses any others.
  explicit AssumedSizes(bool assumes, bool equal = false);
  ~AssumedSizes();
  AssumedSizes(const AssumedSizes&) = delete;
  AssumedSizes& operator=(const AssumedSizes&) = delete;

  static bool active();
  static bool are_equal();

 private:
  bool before_, equal_before_;
};

// The truth of a predicate for every value of its symbols, those without a value at capture being sizes of at
// least 2; nullopt if it depends on the value.
std::optional<bool> truth_for_sizes(const ExprTable& table, ExprId predicate);

}  // namespace stator::shape
