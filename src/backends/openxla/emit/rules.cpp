// src/backends/openxla/emit/rules.cpp: the table of rules.def, by name.
#include "backends/openxla/emit/rules.h"

#include <algorithm>
#include <unordered_map>

namespace stator::openxla {

static const std::unordered_map<std::string_view, Rule>& table() {
  static const std::unordered_map<std::string_view, Rule> rules = {
#define STATOR_RULE(name, function) {name, &rule::function},
#define STATOR_RULE_TEMPLATE(name, ...) {name, &rule::__VA_ARGS__},
#include "backends/openxla/emit/rules.def"
  };
  return rules;
}

Rule find_rule(std::string_view name) {
  const auto found = table().find(name);
  return found == table().end() ? nullptr : found->second;
}

std::vector<std::string_view> rule_names() {
  std::vector<std::string_view> names;
  for (const auto& [name, rule] : table()) names.push_back(name);
  std::ranges::sort(names);
  return names;
}

}  // namespace stator::openxla
