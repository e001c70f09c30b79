// src/torch/inference/rules/unary.cpp: element-wise operators of one tensor.
#include "torch/inference/rules/families.h"
#include "torch/inference/rules/pointwise.h"

namespace stator {

namespace {

bool same_dtype(const Call& call, Answer& answer) {
  return answer_pointwise(call, answer, {0}, call.tensor(0).dtype);
}

// Arithmetic that torch refuses for bool.
bool no_bool(const Call& call, Answer& answer) {
  return call.tensor(0).dtype != c10::ScalarType::Bool && same_dtype(call, answer);
}

bool real_only(const Call& call, Answer& answer) {
  return !c10::isComplexType(call.tensor(0).dtype) && same_dtype(call, answer);
}

bool floating(const Call& call, Answer& answer) {
  return answer_pointwise(call, answer, {0}, to_float(call.tensor(0).dtype));
}

// Activations: floating point only.
bool floating_only(const Call& call, Answer& answer) {
  return c10::isFloatingType(call.tensor(0).dtype) && same_dtype(call, answer);
}

bool absolute(const Call& call, Answer& answer) {
  const auto dtype = call.tensor(0).dtype;
  if (call.written(0) && c10::isComplexType(dtype)) return false;
  return answer_pointwise(call, answer, {0}, to_real(dtype));
}

bool angle(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  if (!c10::isComplexType(self.dtype)) return floating(call, answer);
  return answer_result(call, answer, fresh_meta(self.sizes, to_real(self.dtype), self.device));
}

bool predicate(const Call& call, Answer& answer) {
  return answer_pointwise(call, answer, {0}, c10::ScalarType::Bool);
}

bool bitwise(const Call& call, Answer& answer) {
  return is_integral(call.tensor(0).dtype) && same_dtype(call, answer);
}

// A Scalar bound may promote: clamp(int_tensor, 0.5).
bool clamp(const Call& call, Answer& answer) {
  Promotion promotion;
  promotion.add(call.tensor(0));
  for (int i = 1; i < 3; ++i) {
    if (!call.has(i) || (i < call.count() && call.written(i))) continue;
    promotion.add_number(call.number_kind(i));
  }
  const auto dtype = promotion.result();
  return !c10::isComplexType(dtype) && answer_pointwise(call, answer, {0}, dtype);
}

// glu(self, dim): two halves become one.
bool gated(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  int64_t dim = call.integer(1);
  if (!c10::isFloatingType(self.dtype) || self.dim() == 0 || !wrap_dim(dim, self.dim())) return false;
  if (self.sizes[dim].is_symbolic() || self.sizes[dim].hint() % 2 != 0 || !is_contiguous(self)) return false;
  Sizes sizes = self.sizes;
  sizes[dim] = self.sizes[dim].hint() / 2;
  return answer_result(call, answer, fresh_meta(sizes, self.dtype, self.device));
}

#define STATOR_FORMS(name, rule) \
  {name, rule}, {name "_", rule}, { name ".out", rule }

constexpr RuleEntry kRules[] = {
    {"aten::glu", gated},
    STATOR_FORMS("aten::neg", no_bool),
    STATOR_FORMS("aten::negative", no_bool),
    STATOR_FORMS("aten::abs", absolute),
    STATOR_FORMS("aten::absolute", absolute),
    STATOR_FORMS("aten::angle", angle),
    STATOR_FORMS("aten::relu", real_only),
    STATOR_FORMS("aten::relu6", real_only),
    STATOR_FORMS("aten::sign", real_only),
    STATOR_FORMS("aten::sgn", same_dtype),
    STATOR_FORMS("aten::floor", real_only),
    STATOR_FORMS("aten::ceil", real_only),
    STATOR_FORMS("aten::round", real_only),
    STATOR_FORMS("aten::round.decimals", real_only),
    STATOR_FORMS("aten::trunc", real_only),
    STATOR_FORMS("aten::frac", floating_only),
    STATOR_FORMS("aten::bitwise_not", bitwise),
    STATOR_FORMS("aten::logical_not", predicate),
    STATOR_FORMS("aten::nan_to_num", same_dtype),
    STATOR_FORMS("aten::isposinf", predicate),
    STATOR_FORMS("aten::isneginf", predicate),
    {"aten::signbit", predicate},
    {"aten::isnan", predicate},
    {"aten::isinf", predicate},
    {"aten::isfinite", predicate},
    STATOR_FORMS("aten::exp", floating),
    STATOR_FORMS("aten::exp2", floating),
    STATOR_FORMS("aten::expm1", floating),
    STATOR_FORMS("aten::log", floating),
    STATOR_FORMS("aten::log2", floating),
    STATOR_FORMS("aten::log10", floating),
    STATOR_FORMS("aten::log1p", floating),
    STATOR_FORMS("aten::sqrt", floating),
    STATOR_FORMS("aten::rsqrt", floating),
    STATOR_FORMS("aten::reciprocal", floating),
    STATOR_FORMS("aten::sin", floating),
    STATOR_FORMS("aten::cos", floating),
    STATOR_FORMS("aten::tan", floating),
    STATOR_FORMS("aten::asin", floating),
    STATOR_FORMS("aten::acos", floating),
    STATOR_FORMS("aten::atan", floating),
    STATOR_FORMS("aten::sinh", floating),
    STATOR_FORMS("aten::cosh", floating),
    STATOR_FORMS("aten::tanh", floating),
    STATOR_FORMS("aten::asinh", floating),
    STATOR_FORMS("aten::acosh", floating),
    STATOR_FORMS("aten::atanh", floating),
    STATOR_FORMS("aten::sigmoid", floating),
    STATOR_FORMS("aten::erf", floating),
    STATOR_FORMS("aten::erfc", floating),
    STATOR_FORMS("aten::erfinv", floating),
    STATOR_FORMS("aten::lgamma", floating),
    STATOR_FORMS("aten::digamma", floating),
    STATOR_FORMS("aten::sinc", floating),
    STATOR_FORMS("aten::i0", floating),
    STATOR_FORMS("aten::logit", floating),
    {"aten::special_i0e", floating},
    {"aten::special_i1", floating},
    {"aten::special_i1e", floating},
    {"aten::special_ndtri", floating},
    {"aten::special_log_ndtr", floating},
    {"aten::special_erfcx", floating},
    {"aten::special_entr", floating},
    {"aten::special_bessel_j0", floating},
    {"aten::special_bessel_j1", floating},
    {"aten::special_bessel_y0", floating},
    {"aten::special_bessel_y1", floating},
    {"aten::special_modified_bessel_i0", floating},
    {"aten::special_modified_bessel_i1", floating},
    {"aten::special_modified_bessel_k0", floating},
    {"aten::special_modified_bessel_k1", floating},
    {"aten::special_scaled_modified_bessel_k0", floating},
    {"aten::special_scaled_modified_bessel_k1", floating},
    {"aten::special_spherical_bessel_j0", floating},
    {"aten::special_airy_ai", floating},
    STATOR_FORMS("aten::gelu", floating_only),
    STATOR_FORMS("aten::silu", floating_only),
    STATOR_FORMS("aten::mish", floating_only),
    STATOR_FORMS("aten::elu", floating_only),
    {"aten::celu", floating_only},
    {"aten::celu_", floating_only},
    {"aten::selu", floating_only},
    {"aten::selu_", floating_only},
    STATOR_FORMS("aten::leaky_relu", floating_only),
    STATOR_FORMS("aten::softplus", floating_only),
    STATOR_FORMS("aten::softshrink", floating_only),
    STATOR_FORMS("aten::hardshrink", floating_only),
    STATOR_FORMS("aten::hardsigmoid", floating_only),
    {"aten::hardtanh", floating_only},
    {"aten::hardtanh_", floating_only},
    {"aten::hardswish", floating_only},
    {"aten::hardswish_", floating_only},
    {"aten::log_sigmoid", floating_only},
    {"aten::threshold", real_only},
    {"aten::threshold_", real_only},
    STATOR_FORMS("aten::clamp", clamp),
    STATOR_FORMS("aten::clamp_min", clamp),
    STATOR_FORMS("aten::clamp_max", clamp),
};

}  // namespace

RuleTable unary_rules() { return kRules; }

}  // namespace stator
