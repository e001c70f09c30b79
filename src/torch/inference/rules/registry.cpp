// src/torch/inference/rules/registry.cpp: finds the shape rule of an operator by name.
#include "torch/inference/rules/registry.h"

#include <unordered_map>

#include "torch/inference/rules/families.h"
#include "torch/inference/rules/rule.h"

namespace stator {

Rule find_rule(std::string_view name) {
  static const std::unordered_map<std::string_view, Rule> rules = [] {
    std::unordered_map<std::string_view, Rule> all;
    for (const RuleTable& family : rule_families()) {
      for (const RuleEntry& entry : family) all.emplace(entry.name, entry.rule);
    }
    return all;
  }();
  const auto found = rules.find(name);
  return found == rules.end() ? nullptr : found->second;
}

std::vector<std::string> rule_names() {
  std::vector<std::string> names;
  for (const RuleTable& family : rule_families()) {
    for (const RuleEntry& entry : family) names.emplace_back(entry.name);
  }
  return names;
}

std::vector<RuleTable> rule_families() {
  return {unary_rules(),     binary_rules(),         reshaping_rules(),     permuting_rules(),
          slicing_rules(),   reinterpreting_rules(), reduction_rules(),     matmul_rules(),
          factory_rules(),   copy_rules(),           joining_rules(),       padding_rules(),
          shuffling_rules(), indexing_rules(),       normalization_rules(), convolution_rules(),
          pooling_rules(),   attention_rules(),      spectral_rules(),      decomposition_rules(),
          sorting_rules(),   fused_update_rules(),   resampling_rules(),    recurrent_rules()};
}

}  // namespace stator
