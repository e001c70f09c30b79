// src/torch/inference/rules/normalization.cpp: layer, batch and group norms, softmax, dropout.
#include "torch/inference/rules/families.h"
#include "torch/inference/rules/pointwise.h"

namespace stator {

namespace {

using c10::ScalarType;

bool is_reduced_float(ScalarType dtype) { return dtype == ScalarType::BFloat16 || dtype == ScalarType::Half; }

// The statistics of reduced floats are kept in float where the parameters are.
ScalarType statistics_dtype(const TensorMeta& input, const Call& call, int weight, int bias) {
  for (int i : {weight, bias}) {
    if (call.has(i) && is_reduced_float(input.dtype) && call.tensor(i).dtype == ScalarType::Float)
      return ScalarType::Float;
  }
  return input.dtype;
}

bool ends_with(const Sizes& sizes, const Sizes& tail) {
  return sizes.size() >= tail.size() && std::equal(tail.begin(), tail.end(), sizes.end() - tail.size());
}

// layer_norm(input, normalized_shape, weight, bias, eps, cudnn_enable)
bool layer_norm(const Call& call, Answer& answer) {
  const TensorMeta& input = call.tensor(0);
  const Sizes shape = call.sizes(1);
  if (!c10::isFloatingType(input.dtype) || shape.empty() || !ends_with(input.sizes, shape)) return false;
  answer.fresh(fresh_meta(input.sizes, input.dtype, input.device));
  return true;
}

// rms_norm(input, normalized_shape, weight, eps): products of the input where no kernel does it at once.
bool rms_norm(const Call& call, Answer& answer) {
  const TensorMeta& input = call.tensor(0);
  const bool keeps_dtype = input.dtype == c10::kFloat || input.dtype == c10::kDouble;
  if (!keeps_dtype || !input.device.is_cpu() || numel(input) == 0) return false;
  // Also where a size is 1: products keep such a stride.
  if (input.strides != strides_for(input.sizes, c10::MemoryFormat::Contiguous)) return false;
  if (call.has(2) && (call.tensor(2).dtype != input.dtype || call.tensor(2).sizes != call.sizes(1)))
    return false;
  return layer_norm(call, answer);
}

bool native_layer_norm(const Call& call, Answer& answer) {
  if (!layer_norm(call, answer)) return false;
  const TensorMeta& input = call.tensor(0);
  Sizes sizes = input.sizes;
  const size_t axis = sizes.size() - call.sizes(1).size();
  for (size_t i = axis; i < sizes.size(); ++i) sizes[i] = 1;
  const auto dtype = statistics_dtype(input, call, 2, 3);
  answer.fresh(fresh_meta(sizes, dtype, input.device));
  answer.fresh(fresh_meta(sizes, dtype, input.device));
  return true;
}

// native_layer_norm_backward(grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask)
bool native_layer_norm_backward(const Call& call, Answer& answer) {
  const TensorMeta& input = call.tensor(1);
  const Sizes shape = call.sizes(2), wanted = call.sizes(7);
  if (!input.device.is_cpu() || !c10::isFloatingType(input.dtype) || wanted.size() != 3) return false;
  if (shape.empty() || !ends_with(input.sizes, shape) || call.tensor(0).sizes != input.sizes) return false;
  for (int i = 0; i < 3; ++i) {
    if (wanted[static_cast<size_t>(i)] == Size(0)) {
      answer.undefined();
      continue;
    }
    const int argument = i == 0 ? 1 : 4 + i;
    if (!call.has(argument)) return false;
    const TensorMeta& like = call.tensor(argument);
    if (i > 0 && like.sizes != shape) return false;
    answer.fresh(fresh_meta(like.sizes, like.dtype, like.device));
  }
  return true;
}

// _fused_rms_norm(input, normalized_shape, weight, eps) of CUDA kernels.
bool fused_rms_norm(const Call& call, Answer& answer) {
  const TensorMeta& input = call.tensor(0);
  if (!c10::isFloatingType(input.dtype) || !input.device.is_cuda()) return false;
  const size_t count = call.sizes(1).size();
  if (count == 0 || count > input.sizes.size()) return false;
  answer.fresh(fresh_meta(input.sizes, input.dtype, input.device));
  Sizes sizes = input.sizes;
  for (size_t i = sizes.size() - count; i < sizes.size(); ++i) sizes[i] = 1;
  const auto dtype = input.dtype == at::kDouble ? at::kDouble : at::kFloat;
  answer.fresh(fresh_meta(sizes, dtype, input.device));
  return true;
}

// group_norm(input, groups, weight, bias, eps, cudnn_enabled)
bool group_norm(const Call& call, Answer& answer) {
  const TensorMeta& input = call.tensor(0);
  if (!c10::isFloatingType(input.dtype) || input.dim() < 2) return false;
  const int64_t groups = call.integer(1);
  if (groups <= 0 || !(input.sizes[1] % groups == 0)) return false;
  answer.fresh(fresh_like(input, input.sizes, strides_for(input.sizes, suggested_format(input))));
  return true;
}

// Ones in the sizes leave room for several formats: a batch norm prefers contiguous, then channels last.
c10::MemoryFormat format_of_normalized(const TensorMeta& input) {
  if (is_contiguous(input)) return c10::MemoryFormat::Contiguous;
  if (!is_channels_last(input)) return suggested_format(input);
  return input.dim() == 4 ? c10::MemoryFormat::ChannelsLast : c10::MemoryFormat::ChannelsLast3d;
}

// batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled)
bool batch_norm(const Call& call, Answer& answer) {
  const TensorMeta& input = call.tensor(0);
  if (!c10::isFloatingType(input.dtype) || input.dim() < 2 || !input.device.is_cpu()) return false;
  if (numel(input) == 0) return false;  // eager copies nothing, in the layout that it has
  for (int i = 1; i < 5; ++i) {
    if (call.has(i) && (call.tensor(i).dim() != 1 || !(call.tensor(i).sizes[0] == input.sizes[1])))
      return false;
  }
  answer.fresh(fresh_like(input, input.sizes, strides_for(input.sizes, format_of_normalized(input))));
  return true;
}

bool native_batch_norm(const Call& call, Answer& answer) {
  if (!batch_norm(call, answer)) return false;
  const TensorMeta& input = call.tensor(0);
  const auto dtype = statistics_dtype(input, call, 1, 2);
  const Size kept = call.boolean(5) ? input.sizes[1] : Size(0);
  answer.fresh(fresh_meta({kept}, dtype, input.device));
  answer.fresh(fresh_meta({kept}, dtype, input.device));
  return true;
}

// instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps,
// cudnn_enabled): a batch norm of one sample whose channels are those of all samples, of a contiguous copy.
bool instance_norm(const Call& call, Answer& answer) {
  const TensorMeta& input = call.tensor(0);
  if (!c10::isFloatingType(input.dtype) || input.dim() < 3 || !input.device.is_cpu()) return false;
  if (numel(input) == 0 || !call.boolean(5)) return false;
  for (int i = 1; i < 5; ++i) {
    if (!call.has(i)) continue;
    const TensorMeta& other = call.tensor(i);
    if (other.dim() != 1 || other.dtype != input.dtype || !(other.sizes[0] == input.sizes[1])) return false;
  }
  answer.fresh(fresh_meta(input.sizes, input.dtype, input.device));
  return true;
}

// _native_batch_norm_legit.no_stats(input, weight, bias, training, momentum, eps)
bool batch_norm_without_statistics(const Call& call, Answer& answer) {
  const TensorMeta& input = call.tensor(0);
  if (!c10::isFloatingType(input.dtype) || input.dim() < 2 || !input.device.is_cpu()) return false;
  if (!call.boolean(3)) return false;
  answer.fresh(fresh_like(input, input.sizes, strides_for(input.sizes, format_of_normalized(input))));
  const auto dtype = statistics_dtype(input, call, 1, 2);
  answer.fresh(fresh_meta({input.sizes[1]}, dtype, input.device));
  answer.fresh(fresh_meta({input.sizes[1]}, dtype, input.device));
  return true;
}

// _batch_norm_with_update(input, weight, bias, running_mean, running_var, momentum, eps)
bool batch_norm_with_update(const Call& call, Answer& answer) {
  const TensorMeta& input = call.tensor(0);
  if (!batch_norm(call, answer)) return false;
  const auto dtype = statistics_dtype(input, call, 1, 2);
  answer.fresh(fresh_meta({input.sizes[1]}, dtype, input.device));
  answer.fresh(fresh_meta({input.sizes[1]}, dtype, input.device));
  answer.fresh(fresh_meta({Size(0)}, ScalarType::Byte, input.device));
  return true;
}

// _weight_norm(v, g, dim): v * (g / norm(v)), on contiguous copies, in one kernel over the first or last
// dimension.
bool weight_norm(const Call& call, Answer& answer) {
  const TensorMeta &v = call.tensor(0), &g = call.tensor(1);
  const int64_t dim = call.integer(2);
  if (!c10::isFloatingType(v.dtype) || v.dtype != g.dtype || v.device != g.device) return false;
  if (dim != 0 && dim != v.dim() - 1) return false;
  if (g.dim() != v.dim()) return false;
  for (int64_t i = 0; i < v.dim(); ++i) {
    if (!(g.sizes[i] == (i == dim ? v.sizes[i] : Size(1)))) return false;
  }
  answer.fresh(fresh_meta(v.sizes, v.dtype, v.device));
  return true;
}

// native_group_norm(input, weight, bias, N, C, HxW, group, eps)
bool native_group_norm(const Call& call, Answer& answer) {
  const TensorMeta& input = call.tensor(0);
  if (!c10::isFloatingType(input.dtype) || input.dim() < 2) return false;
  answer.fresh(fresh_like(input, input.sizes, strides_for(input.sizes, suggested_format(input))));
  const auto dtype = statistics_dtype(input, call, 1, 2);
  const Sizes sizes{call.size(3), call.size(6)};
  answer.fresh(fresh_meta(sizes, dtype, input.device));
  answer.fresh(fresh_meta(sizes, dtype, input.device));
  return true;
}

// softmax.int(self, dim, dtype); the result is contiguous.
bool softmax(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  int64_t dim = call.integer(1);
  if (!wrap_dim(dim, self.dim())) return false;
  const auto dtype = call.has(2) ? call.dtype(2) : self.dtype;
  if (is_integral(dtype) || c10::isComplexType(dtype)) return false;
  answer.fresh(fresh_meta(self.sizes, dtype, self.device));
  return true;
}

// _softmax(self, dim, half_to_float)
bool softmax_kernel(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  int64_t dim = call.integer(1);
  if (!wrap_dim(dim, self.dim()) || !c10::isFloatingType(self.dtype)) return false;
  answer.fresh(fresh_meta(self.sizes, call.boolean(2) ? ScalarType::Float : self.dtype, self.device));
  return true;
}

// dropout(input, p, train): the input itself in eval.
bool dropout(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  const double p = call.number(1);
  if (p < 0 || p > 1) return false;
  if (p == 0 || !call.boolean(2) || numel(self) == 0) {
    answer.same(0, self);
    return true;
  }
  if (!self.device.is_cpu() || !c10::isFloatingType(self.dtype)) return false;
  if (call.written(0)) {
    answer.same(0, self);
    return true;
  }
  const TensorMeta noise = p == 1 ? TensorMeta{} : fresh_like(self, self.sizes, preserved_strides(self));
  const TensorMeta* operands[] = {&self, &noise};
  answer.fresh(fresh_like(self, self.sizes, iterated_strides(self.sizes, operands)));
  return true;
}

bool native_dropout(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  if (!self.device.is_cpu() || !c10::isFloatingType(self.dtype)) return false;
  const Sizes strides = preserved_strides(self);
  answer.fresh(fresh_like(self, self.sizes, strides));
  answer.fresh(fresh_like(self, self.sizes, strides));
  answer.specs.back().meta.dtype = ScalarType::Bool;
  return true;
}

// native_dropout_backward(grad_output, mask, scale): the gradient times the scaled mask.
bool native_dropout_backward(const Call& call, Answer& answer) {
  const TensorMeta& mask = call.tensor(1);
  const TensorMeta kept = fresh_like(mask, mask.sizes, preserved_strides(mask)), number;
  const TensorMeta* factors[] = {&kept, &number};
  const TensorMeta scaled = fresh_like(mask, mask.sizes, iterated_strides(mask.sizes, factors));
  const TensorMeta* operands[] = {&call.tensor(0), &scaled};
  return answer_pointwise(call, answer, operands, to_float(call.tensor(0).dtype));
}

constexpr RuleEntry kRules[] = {
    {"aten::layer_norm", layer_norm},
    {"aten::rms_norm", rms_norm},
    {"aten::native_layer_norm", native_layer_norm},
    {"aten::native_layer_norm_backward", native_layer_norm_backward},
    {"aten::_fused_rms_norm", fused_rms_norm},
    {"aten::group_norm", group_norm},
    {"aten::batch_norm", batch_norm},
    {"aten::instance_norm", instance_norm},
    {"aten::native_batch_norm", native_batch_norm},
    {"aten::_native_batch_norm_legit", native_batch_norm},
    {"aten::_native_batch_norm_legit.no_stats", batch_norm_without_statistics},
    {"aten::_batch_norm_with_update", batch_norm_with_update},
    {"aten::_weight_norm", weight_norm},
    {"aten::native_group_norm", native_group_norm},
    {"aten::softmax.int", softmax},
    {"aten::log_softmax.int", softmax},
    {"aten::_safe_softmax", softmax},
    {"aten::_softmax", softmax_kernel},
    {"aten::_log_softmax", softmax_kernel},
    {"aten::dropout", dropout},
    {"aten::dropout_", dropout},
    {"aten::native_dropout", native_dropout},
    {"aten::native_dropout_backward", native_dropout_backward},
};

}  // namespace

RuleTable normalization_rules() { return kRules; }

}  // namespace stator
