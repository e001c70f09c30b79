// src/torch/inference/rules/unary.cpp: element-wise operators of one tensor.
#include "torch/inference/rules/families.h"
#include "torch/inference/rules/pointwise.h"

namespace stator {

namespace {

// Into memory that torch lays out like the operand, before any TensorIterator.
bool laid_out_alike(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  return answer_result(call, answer, fresh_like(self, self.sizes, preserved_strides(self)));
}

// torch refuses some limits for types without negative numbers.
bool hardtanh(const Call& call, Answer& answer) {
  const c10::ScalarType dtype = call.tensor(0).dtype;
  return c10::isSignedType(dtype) && !c10::isComplexType(dtype) && laid_out_alike(call, answer);
}

bool relu6(const Call& call, Answer& answer) {
  const c10::ScalarType dtype = call.tensor(0).dtype;
  return dtype != c10::ScalarType::Bool && !c10::isComplexType(dtype) && laid_out_alike(call, answer);
}

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

// isinf, isfinite. Of integers the answer is known, and made like them.
bool of_integers(const Call& call, Answer& answer) {
  return answer_result(call, answer, converted(call.tensor(0), c10::ScalarType::Bool));
}

TensorMeta iterated(const TensorMeta& like, std::initializer_list<const TensorMeta*> operands) {
  const std::span<const TensorMeta* const> all(operands.begin(), operands.size());
  return fresh_like(like, like.sizes, iterated_strides(like.sizes, all));
}

// abs(self) == infinity
bool infinite(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  if (is_integral(self.dtype)) return of_integers(call, answer);
  if (c10::isComplexType(self.dtype)) return false;
  const TensorMeta magnitude = iterated(self, {&self}), number;
  TensorMeta result = iterated(self, {&magnitude, &number});
  result.dtype = c10::ScalarType::Bool;
  return answer_result(call, answer, std::move(result));
}

// (self == self) * (abs(self) != infinity)
bool finite(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  if (is_integral(self.dtype)) return of_integers(call, answer);
  if (c10::isComplexType(self.dtype)) return false;
  const TensorMeta magnitude = iterated(self, {&self}), number;
  const TensorMeta below = iterated(self, {&magnitude, &number}), itself = iterated(self, {&self, &self});
  TensorMeta result = iterated(self, {&itself, &below});
  result.dtype = c10::ScalarType::Bool;
  return answer_result(call, answer, std::move(result));
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
  if (c10::isComplexType(dtype)) return false;
  const TensorMeta& self = call.tensor(0);
  if (dtype == self.dtype) return answer_pointwise(call, answer, {0}, dtype);
  const TensorMeta promoted = converted(self, dtype);  // by the operator itself, on any device
  const TensorMeta* operands[] = {&promoted};
  return answer_iterated(call, answer, operands, dtype);
}

// rrelu, poisson: the result has the standard strides, whatever those of the argument are.
bool contiguous_floating(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  if (!c10::isFloatingType(self.dtype)) return false;
  answer.fresh(fresh_meta(self.sizes, self.dtype, self.device));
  return true;
}

// log_sigmoid: the kernel of the CPU has standard strides, that of CUDA iterates.
bool log_sigmoid(const Call& call, Answer& answer) {
  return call.tensor(0).device.is_cpu() ? contiguous_floating(call, answer) : floating_only(call, answer);
}

// glu(self, dim): two halves become one.
bool gated(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  int64_t dim = call.integer(1);
  if (!c10::isFloatingType(self.dtype) || self.dim() == 0 || !wrap_dim(dim, self.dim())) return false;
  if (self.sizes[dim].is_symbolic() || self.sizes[dim].hint() % 2 != 0) return false;
  TensorMeta half = self;
  half.sizes[dim] = self.sizes[dim].hint() / 2;
  const TensorMeta* halves[] = {&half, &half};
  return answer_iterated(call, answer, halves, self.dtype);
}

#define STATOR_FORMS(name, rule) \
  {name, rule}, {name "_", rule}, { name ".out", rule }

constexpr RuleEntry kRules[] = {
    {"aten::glu", gated},
    {"aten::_standard_gamma", contiguous_floating},
    {"aten::poisson", contiguous_floating},
    {"aten::rrelu", contiguous_floating},
    {"aten::rrelu_with_noise", contiguous_floating},
    STATOR_FORMS("aten::neg", no_bool),
    STATOR_FORMS("aten::negative", no_bool),
    STATOR_FORMS("aten::abs", absolute),
    STATOR_FORMS("aten::absolute", absolute),
    STATOR_FORMS("aten::angle", angle),
    STATOR_FORMS("aten::relu", real_only),
    {"aten::relu6", relu6},
    {"aten::relu6_", real_only},
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
    STATOR_FORMS("aten::nan_to_num", laid_out_alike),
    STATOR_FORMS("aten::isposinf", predicate),
    STATOR_FORMS("aten::isneginf", predicate),
    {"aten::signbit", predicate},
    {"aten::isnan", predicate},
    {"aten::isinf", infinite},
    {"aten::isfinite", finite},
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
    {"aten::hardtanh", hardtanh},
    {"aten::hardtanh_", floating_only},
    {"aten::hardswish", floating_only},
    {"aten::hardswish_", floating_only},
    {"aten::log_sigmoid", log_sigmoid},
    {"aten::threshold", real_only},
    {"aten::threshold_", real_only},
    STATOR_FORMS("aten::clamp", clamp),
    STATOR_FORMS("aten::clamp_min", clamp),
    STATOR_FORMS("aten::clamp_max", clamp),
};

}  // namespace

RuleTable unary_rules() { return kRules; }

}  // namespace stator
