// src/torch/inference/rules/families.h: the tables of shape rules, one per family file.
#pragma once

#include <span>
#include <vector>

#include "torch/inference/rules/rule.h"

namespace stator {

struct RuleEntry {
  const char* name;  // with overload, as the dispatcher spells it
  Rule rule;
};
using RuleTable = std::span<const RuleEntry>;

RuleTable unary_rules();
RuleTable binary_rules();
RuleTable reshaping_rules();
RuleTable permuting_rules();
RuleTable slicing_rules();
RuleTable reinterpreting_rules();
RuleTable reduction_rules();
RuleTable matmul_rules();
RuleTable factory_rules();
RuleTable copy_rules();
RuleTable joining_rules();
RuleTable indexing_rules();
RuleTable normalization_rules();
RuleTable convolution_rules();
RuleTable pooling_rules();
RuleTable attention_rules();
RuleTable spectral_rules();
RuleTable decomposition_rules();
RuleTable padding_rules();
RuleTable shuffling_rules();
RuleTable sorting_rules();
RuleTable fused_update_rules();
RuleTable resampling_rules();
RuleTable recurrent_rules();

std::vector<RuleTable> rule_families();

}  // namespace stator
