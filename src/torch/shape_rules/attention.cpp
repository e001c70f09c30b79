// src/torch/shape_rules/attention.cpp: scaled dot product attention and its fused kernel.
#include <ATen/Context.h>

#include "torch/shape_rules/families.h"
#include "torch/shape_rules/pointwise.h"

namespace stator {

namespace {

using c10::ScalarType;

// _scaled_dot_product_flash_attention_for_cpu(query, key, value, …): laid out as the query is.
bool flash_attention(const Call& call, Answer& answer) {
  const TensorMeta &query = call.tensor(0), &value = call.tensor(2);
  if (query.dim() != 4 || !(value.sizes[3] == query.sizes[3])) return false;
  const Sizes& q = query.sizes;
  answer.fresh(fresh_like(query, q, preserved_strides(query)));
  TensorMeta sums = fresh_like(query, {q[0], q[1], q[2]}, {q[2] * q[1], Size(1), q[1]});
  if (query.dtype == ScalarType::BFloat16 || query.dtype == ScalarType::Half) sums.dtype = ScalarType::Float;
  answer.fresh(std::move(sums));
  return true;
}

// scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, is_causal, *, scale, enable_gqa) on
// the CPU, where either the fused kernel or a chain of matrix products answers. What torch looks at to
// choose between them is left to its own code (the composite is run again), save in the plain cases.
bool attention(const Call& call, Answer& answer) {
  const TensorMeta &query = call.tensor(0), &key = call.tensor(1), &value = call.tensor(2);
  if (!query.device.is_cpu() || !at::globalContext().userEnabledFlashSDP()) return false;
  const auto dtype = query.dtype;
  if (dtype != ScalarType::Float && dtype != ScalarType::BFloat16) return false;
  for (const TensorMeta* meta : {&query, &key, &value}) {
    if (meta->dim() != 4 || meta->dtype != dtype || meta->device != query.device) return false;
    if (!(meta->sizes[3] == query.sizes[3]) || !(meta->strides[3] == 1)) return false;
    if (!(meta->sizes[0] == query.sizes[0]) || !(meta->sizes[1] == query.sizes[1])) return false;
    if (meta->sizes[2] == 0 || meta->sizes[3] == 0) return false;
  }
  if (!(key.sizes[2] == value.sizes[2]) || call.number(4) != 0) return false;
  if (call.has(3)) {
    const TensorMeta& mask = call.tensor(3);
    if ((mask.dim() != 2 && mask.dim() != 4) || call.requires_grad(3) || call.boolean(5)) return false;
    if (mask.dtype != ScalarType::Bool && mask.dtype != dtype) return false;
    const Sizes whole{query.sizes[0], query.sizes[1], query.sizes[2], key.sizes[2]};
    const int64_t missing = 4 - mask.dim();
    for (int64_t i = missing; i < 4; ++i) {
      const Size& own = mask.sizes[i - missing];
      if (!(own == 1) && !(own == whole[i])) return false;
    }
  }
  if (!flash_attention(call, answer)) return false;
  answer.specs.pop_back();
  return true;
}

constexpr RuleEntry kRules[] = {
    {"aten::scaled_dot_product_attention", attention},
    {"aten::_scaled_dot_product_flash_attention_for_cpu", flash_attention},
};

}  // namespace

RuleTable attention_rules() { return kRules; }

}  // namespace stator
