// src/torch/inference/rules/fused_updates.cpp: steps of optimizers in one operator, which write to lists of
// tensors.
#include "torch/inference/rules/families.h"
#include "torch/inference/rules/rule.h"

namespace stator {

namespace {

// Parameters first, their gradients second. Nothing is returned, and what is written keeps its shape.
bool update(const Call& call, Answer&) {
  const auto& parameters = call.tensors(0);
  const auto& gradients = call.tensors(1);
  if (parameters.size() != gradients.size()) return false;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!(parameters[i].sizes == gradients[i].sizes) || parameters[i].dtype != gradients[i].dtype)
      return false;
  }
  return true;
}

constexpr RuleEntry kRules[] = {
    {"aten::_fused_sgd_", update},
    {"aten::_fused_sgd_.tensor_lr", update},
    {"aten::_fused_adagrad_", update},
    {"aten::_fused_adagrad_.tensor_lr", update},
};

}  // namespace

RuleTable fused_update_rules() { return kRules; }

}  // namespace stator
