// src/torch/inference/rules/attention.cpp: scaled dot product attention and its fused kernel.
#include <ATen/Context.h>

#include "torch/inference/rules/families.h"
#include "torch/inference/rules/pointwise.h"

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

// Whether these weights fit a batch of sequences that attend to themselves: (batch, length, width).
bool attends_to_itself(const TensorMeta& input, const Size& width, const Size& heads,
                       const TensorMeta& projection) {
  if (!input.device.is_cpu() || input.dim() != 3 || numel(input) == 0 || !is_contiguous(input)) return false;
  if (input.dtype != ScalarType::Float && input.dtype != ScalarType::Double) return false;
  return input.dtype == projection.dtype && projection.dim() == 2 && input.sizes[2] == width && heads > 0 &&
         width % heads == 0 && projection.sizes[0] == width * 3 && projection.sizes[1] == width;
}

// _native_multi_head_attention(query, key, value, embed_dim, num_head, qkv_weight, qkv_bias, proj_weight,
// proj_bias, mask, need_weights, average_attn_weights, mask_type)
bool multi_head(const Call& call, Answer& answer) {
  const TensorMeta& query = call.tensor(0);
  const Size heads = call.size(4);
  if (!attends_to_itself(query, call.size(3), heads, call.tensor(5))) return false;
  for (int i : {1, 2}) {
    const TensorMeta& other = call.tensor(i);
    if (other.dim() != 3 || other.dtype != query.dtype || !is_contiguous(other)) return false;
    if (!std::equal(query.sizes.begin(), query.sizes.end(), other.sizes.begin())) return false;
  }
  answer.fresh(fresh_meta(query.sizes, query.dtype, query.device));
  const Size &batch = query.sizes[0], &length = query.sizes[1];
  if (!call.boolean(10)) {
    answer.undefined();
  } else if (call.boolean(11)) {
    answer.fresh(fresh_meta({batch, length, length}, query.dtype, query.device));
  } else {
    answer.fresh(fresh_meta({batch, heads, length, length}, query.dtype, query.device));
  }
  return true;
}

// _transformer_encoder_layer_fwd(src, embed_dim, num_heads, qkv_weight, …)
bool encoder_layer(const Call& call, Answer& answer) {
  const TensorMeta& input = call.tensor(0);
  if (!attends_to_itself(input, call.size(1), call.size(2), call.tensor(3))) return false;
  answer.fresh(fresh_meta(input.sizes, input.dtype, input.device));
  return true;
}

constexpr RuleEntry kRules[] = {
    {"aten::scaled_dot_product_attention", attention},
    {"aten::_scaled_dot_product_flash_attention_for_cpu", flash_attention},
    {"aten::_native_multi_head_attention", multi_head},
    {"aten::_transformer_encoder_layer_fwd", encoder_layer},
};

}  // namespace

RuleTable attention_rules() { return kRules; }

}  // namespace stator
