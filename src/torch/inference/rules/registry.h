// src/torch/inference/rules/registry.h: the shape rules by name.
#pragma once

#include <string>
#include <vector>

namespace stator {

// The operators that have a rule, with overload.
std::vector<std::string> rule_names();

}  // namespace stator
