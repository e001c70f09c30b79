// src/torch/shape_rules/families.h: the tables of shape rules, one per family file.
#pragma once

#include <span>
#include <vector>

#include "torch/shape_rules/rule.h"

namespace stator {

struct RuleEntry {
  const char* name;  // with overload, as the dispatcher spells it
  Rule rule;
};
using RuleTable = std::span<const RuleEntry>;

std::vector<RuleTable> rule_families();

}  // namespace stator
