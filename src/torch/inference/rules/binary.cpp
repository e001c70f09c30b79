// src/torch/inference/rules/binary.cpp: element-wise operators of two or three operands, comparisons
// included.
#include <algorithm>

#include "torch/inference/rules/families.h"
#include "torch/inference/rules/pointwise.h"

namespace stator {

namespace {

using c10::ScalarType;

// The second operand is a tensor, or a Scalar in the overloads that say so.
bool second_is_tensor(const Call& call) { return !call.tensors(1).empty(); }

ScalarType promoted(const Call& call) {
  Promotion promotion;
  promotion.add(call.tensor(0));
  if (second_is_tensor(call)) {
    promotion.add(call.tensor(1));
  } else {
    promotion.add_number(call.number_kind(1));
  }
  return promotion.result();
}

bool answer_binary(const Call& call, Answer& answer, ScalarType dtype) {
  if (second_is_tensor(call)) return answer_pointwise(call, answer, {0, 1}, dtype);
  // Scalar overloads wrap the number, which keeps TensorIterator off its fast path.
  TensorMeta number;
  number.wrapped_number = true;
  number.dtype = number_dtype(call.number_kind(1));
  const TensorMeta* operands[] = {&call.tensor(0), &number};
  return answer_pointwise(call, answer, operands, dtype);
}

bool arithmetic(const Call& call, Answer& answer) { return answer_binary(call, answer, promoted(call)); }

bool is_subtractable(const Call& call) {
  if (call.tensor(0).dtype == ScalarType::Bool) return false;
  return second_is_tensor(call) ? call.tensor(1).dtype != ScalarType::Bool
                                : call.number_kind(1) != NumberKind::boolean;
}

bool subtraction(const Call& call, Answer& answer) {
  return is_subtractable(call) && arithmetic(call, answer);
}

// rsub(self, other): other - self, whose layout is that of other where the two tell nothing else.
bool reversed_subtraction(const Call& call, Answer& answer) {
  return is_subtractable(call) && answer_pointwise(call, answer, {1, 0}, promoted(call));
}

bool real_arithmetic(const Call& call, Answer& answer) {
  const auto dtype = promoted(call);
  return !c10::isComplexType(dtype) && answer_binary(call, answer, dtype);
}

bool true_division(const Call& call, Answer& answer) {
  return answer_binary(call, answer, to_float(promoted(call)));
}

// div.Tensor_mode: rounding keeps integers.
bool division_with_mode(const Call& call, Answer& answer) {
  const auto dtype = promoted(call);
  return answer_binary(call, answer, call.has(2) ? dtype : to_float(dtype));
}

bool floating(const Call& call, Answer& answer) {
  const auto dtype = to_float(promoted(call));
  return !c10::isComplexType(dtype) && answer_binary(call, answer, dtype);
}

bool floating_or_complex(const Call& call, Answer& answer) {
  return answer_binary(call, answer, to_float(promoted(call)));
}

// Both operands have the dtype, or torch refuses.
bool equal_dtypes(const Call& call, Answer& answer) {
  const auto dtype = call.tensor(0).dtype;
  return dtype == call.tensor(1).dtype && c10::isFloatingType(dtype) && answer_binary(call, answer, dtype);
}

bool bitwise(const Call& call, Answer& answer) {
  const auto dtype = promoted(call);
  return is_integral(dtype) && answer_binary(call, answer, dtype);
}

bool shift(const Call& call, Answer& answer) {
  const auto dtype = promoted(call);
  return is_integral(dtype) && dtype != ScalarType::Bool && answer_binary(call, answer, dtype);
}

bool comparison(const Call& call, Answer& answer) {
  if (call.written(0)) {
    // In place the result takes self's dtype.
    const TensorMeta& self = call.tensor(0);
    if (!second_is_tensor(call)) return answer.same(0, self), true;
    Sizes sizes = self.sizes;
    if (!broadcast(sizes, call.tensor(1).sizes) || sizes.size() != self.sizes.size()) return false;
    if (!std::equal(sizes.begin(), sizes.end(), self.sizes.begin())) return false;
    return answer.same(0, self), true;
  }
  return answer_binary(call, answer, ScalarType::Bool);
}

bool power(const Call& call, Answer& answer) {
  const auto dtype = promoted(call);
  // Integers to a negative power are refused, depending on the exponent.
  if (!second_is_tensor(call)) {
    if (is_integral(dtype) && call.number_kind(1) == NumberKind::integral && call.number(1) < 0) return false;
    return answer_pointwise(call, answer, {0}, dtype);
  }
  return answer_binary(call, answer, dtype);
}

// pow.Scalar(self, exponent): made contiguous, whatever the exponent is.
bool power_number_first(const Call& call, Answer& answer) {
  const TensorMeta& exponent = call.tensor(1);
  Promotion promotion;
  promotion.add(exponent);
  promotion.add_number(call.number_kind(0));
  return answer_result(call, answer, fresh_meta(exponent.sizes, promotion.result(), exponent.device));
}

// complex(real, imag), polar(abs, angle)
bool complex_of_parts(const Call& call, Answer& answer) {
  const auto dtype = call.tensor(0).dtype;
  if (dtype != call.tensor(1).dtype || !c10::isFloatingType(dtype) || dtype == ScalarType::BFloat16)
    return false;
  return answer_pointwise(call, answer, {0, 1}, c10::toComplexType(dtype));
}

// where(condition, self, other) and its overloads with numbers. torch converts each operand by itself, on
// every device.
bool choice(const Call& call, Answer& answer) {
  if (call.tensor(0).dtype != ScalarType::Bool && call.tensor(0).dtype != ScalarType::Byte) return false;
  Promotion promotion;
  for (int i = 1; i < 3; ++i) {
    if (call.tensors(i).empty()) {
      promotion.add_number(call.number_kind(i));
    } else {
      promotion.add(call.tensor(i));
    }
  }
  const ScalarType dtype = promotion.result();
  TensorMeta operands[3];
  const TensorMeta* pointers[3];
  for (int i = 0; i < 3; ++i) {
    const ScalarType wanted = i == 0 ? ScalarType::Bool : dtype;
    pointers[i] = &operands[i];
    if (call.tensors(i).empty()) {
      operands[i].wrapped_number = true;
    } else if (call.tensor(i).dtype != wanted && call.tensor(i).dim() > 0) {
      operands[i] = converted(call.tensor(i), wanted);
    } else {
      pointers[i] = &call.tensor(i);
    }
  }
  return answer_iterated(call, answer, pointers, dtype);
}

// self + value * a * b, self + value * a / b, lerp.
bool ternary(const Call& call, Answer& answer) {
  Promotion promotion;
  for (int i = 0; i < 3; ++i) promotion.add(call.tensor(i));
  return answer_pointwise(call, answer, {0, 1, 2}, promotion.result());
}

bool ternary_division(const Call& call, Answer& answer) {
  if (is_integral(call.tensor(1).dtype) && is_integral(call.tensor(2).dtype)) return false;
  return ternary(call, answer);
}

bool interpolation(const Call& call, Answer& answer) {
  if (call.tensor(0).dtype != call.tensor(1).dtype) return false;
  if (call.tensors(2).empty()) return answer_pointwise(call, answer, {0, 1}, call.tensor(0).dtype);
  if (call.tensor(0).dtype != call.tensor(2).dtype) return false;
  return answer_pointwise(call, answer, {0, 1, 2}, call.tensor(0).dtype);
}

bool clamp_tensors(const Call& call, Answer& answer) {
  Promotion promotion;
  c10::SmallVector<const TensorMeta*, 3> operands;
  for (int i = 0; i < 3 && i < call.count(); ++i) {
    if (!call.has(i) || call.tensors(i).empty() || (i > 0 && call.written(i))) continue;
    promotion.add(call.tensor(i));
    operands.push_back(&call.tensor(i));
  }
  const auto dtype = promotion.result();
  if (c10::isComplexType(dtype)) return false;
  return answer_pointwise(call, answer, std::span<const TensorMeta* const>(operands.data(), operands.size()),
                          dtype);
}

// self[mask] = value, in a new tensor or in place.
bool masked_fill(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  if (call.tensor(1).dtype != ScalarType::Bool) return false;
  if (!call.tensors(2).empty()) {
    if (call.tensor(2).dim() != 0 || !c10::canCast(call.tensor(2).dtype, self.dtype)) return false;
  } else {
    const auto kind = call.number_kind(2);
    if (kind == NumberKind::complex && !c10::isComplexType(self.dtype)) return false;
    if (kind == NumberKind::floating && is_integral(self.dtype)) return false;
  }
  if (call.written(0)) {
    Sizes sizes = self.sizes;
    if (!broadcast(sizes, call.tensor(1).sizes) || sizes.size() != self.sizes.size()) return false;
    if (!std::equal(sizes.begin(), sizes.end(), self.sizes.begin())) return false;
    return answer.same(0, self), true;
  }
  Sizes sizes = self.sizes;
  if (!broadcast(sizes, call.tensor(1).sizes)) return false;
  answer.fresh(fresh_meta(sizes, self.dtype, self.device));
  return true;
}

// mse_loss(self, target, reduction), smooth_l1_loss and others: one number unless the losses are wanted one
// by one.
bool reduced_loss(const Call& call, Answer& answer, int reduction) {
  const TensorMeta& self = call.tensor(0);
  Sizes sizes = self.sizes;
  if (call.integer(reduction) == 0 || !c10::isFloatingType(self.dtype) || self.dtype != call.tensor(1).dtype)
    return false;
  if (!broadcast(sizes, call.tensor(1).sizes)) return false;
  answer.fresh(fresh_meta({}, self.dtype, self.device));
  return true;
}

bool loss(const Call& call, Answer& answer) {
  if (call.integer(2) != 0) return reduced_loss(call, answer, 2);
  const ScalarType dtype = promoted(call);
  return c10::isFloatingType(dtype) && answer_pointwise(call, answer, {0, 1}, dtype);
}

// binary_cross_entropy(self, target, weight, reduction), of equal sizes: losses lie as `self` does.
bool binary_cross_entropy(const Call& call, Answer& answer) {
  const TensorMeta &self = call.tensor(0), &target = call.tensor(1);
  if (call.integer(3) != 0) return reduced_loss(call, answer, 3);
  if (self.dtype != target.dtype || !std::ranges::equal(self.sizes, target.sizes)) return false;
  answer.fresh(fresh_like(self, self.sizes, preserved_strides(self)));
  return true;
}

// Losses in memory that is made like `self`, and reduced from there.
bool huber_loss(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  Sizes sizes = self.sizes;
  if (!c10::isFloatingType(self.dtype) || !c10::canCast(call.tensor(1).dtype, self.dtype)) return false;
  if (!broadcast(sizes, call.tensor(1).sizes) || sizes.size() != self.sizes.size()) return false;
  if (!std::equal(sizes.begin(), sizes.end(), self.sizes.begin())) return false;
  answer.fresh(call.integer(2) == 0 ? fresh_like(self, self.sizes, preserved_strides(self))
                                    : fresh_meta({}, self.dtype, self.device));
  return true;
}

// _prelu_kernel(self, weight), of equal types.
bool parametric_relu(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  if (self.dtype != call.tensor(1).dtype) return false;
  answer.fresh(fresh_like(self, self.sizes, preserved_strides(self)));
  return true;
}

#define STATOR_TENSOR_FORMS(name, rule) \
  {name ".Tensor", rule}, {name "_.Tensor", rule}, { name ".out", rule }
#define STATOR_SCALAR_FORMS(name, rule) \
  {name ".Scalar", rule}, { name "_.Scalar", rule }
#define STATOR_COMPARISON(name)                                                                  \
  {name ".Tensor", comparison}, {name "_.Tensor", comparison}, {name ".Tensor_out", comparison}, \
      {name ".Scalar", comparison}, {name "_.Scalar", comparison}, {                             \
    name ".Scalar_out", comparison                                                               \
  }
#define STATOR_PLAIN_FORMS(name, rule) \
  {name, rule}, {name "_", rule}, { name ".out", rule }

constexpr RuleEntry kRules[] = {
    {"aten::complex", complex_of_parts},
    {"aten::complex.out", complex_of_parts},
    {"aten::polar", complex_of_parts},
    {"aten::polar.out", complex_of_parts},
    STATOR_TENSOR_FORMS("aten::add", arithmetic),
    STATOR_SCALAR_FORMS("aten::add", arithmetic),
    STATOR_TENSOR_FORMS("aten::sub", subtraction),
    STATOR_SCALAR_FORMS("aten::sub", subtraction),
    {"aten::rsub.Tensor", reversed_subtraction},
    {"aten::rsub.Scalar", subtraction},
    STATOR_TENSOR_FORMS("aten::mul", arithmetic),
    STATOR_SCALAR_FORMS("aten::mul", arithmetic),
    STATOR_TENSOR_FORMS("aten::div", true_division),
    STATOR_SCALAR_FORMS("aten::div", true_division),
    {"aten::div.Tensor_mode", division_with_mode},
    {"aten::div_.Tensor_mode", division_with_mode},
    {"aten::div.Scalar_mode", division_with_mode},
    {"aten::div_.Scalar_mode", division_with_mode},
    {"aten::floor_divide", real_arithmetic},
    {"aten::floor_divide_.Tensor", real_arithmetic},
    {"aten::floor_divide.Scalar", real_arithmetic},
    STATOR_TENSOR_FORMS("aten::remainder", real_arithmetic),
    STATOR_SCALAR_FORMS("aten::remainder", real_arithmetic),
    STATOR_TENSOR_FORMS("aten::fmod", real_arithmetic),
    STATOR_SCALAR_FORMS("aten::fmod", real_arithmetic),
    STATOR_PLAIN_FORMS("aten::maximum", real_arithmetic),
    STATOR_PLAIN_FORMS("aten::minimum", real_arithmetic),
    {"aten::max.other", real_arithmetic},
    {"aten::min.other", real_arithmetic},
    STATOR_PLAIN_FORMS("aten::fmax", real_arithmetic),
    STATOR_PLAIN_FORMS("aten::fmin", real_arithmetic),
    {"aten::pow.Tensor_Tensor", power},
    {"aten::pow_.Tensor", power},
    {"aten::pow.Tensor_Scalar", power},
    {"aten::pow_.Scalar", power},
    {"aten::pow.Scalar", power_number_first},
    STATOR_PLAIN_FORMS("aten::atan2", floating),
    STATOR_PLAIN_FORMS("aten::hypot", equal_dtypes),
    STATOR_PLAIN_FORMS("aten::nextafter", equal_dtypes),
    {"aten::copysign.Tensor", floating},
    {"aten::copysign_.Tensor", floating},
    {"aten::copysign.Scalar", floating},
    {"aten::xlogy.Tensor", floating},
    {"aten::xlogy_.Tensor", floating},
    {"aten::special_xlog1py", floating},
    {"aten::special_zeta", floating},
    STATOR_PLAIN_FORMS("aten::logaddexp", floating_or_complex),
    STATOR_PLAIN_FORMS("aten::logaddexp2", floating),
    STATOR_PLAIN_FORMS("aten::gcd", bitwise),
    STATOR_PLAIN_FORMS("aten::lcm", bitwise),
    STATOR_TENSOR_FORMS("aten::bitwise_and", bitwise),
    STATOR_SCALAR_FORMS("aten::bitwise_and", bitwise),
    STATOR_TENSOR_FORMS("aten::bitwise_or", bitwise),
    STATOR_SCALAR_FORMS("aten::bitwise_or", bitwise),
    STATOR_TENSOR_FORMS("aten::bitwise_xor", bitwise),
    STATOR_SCALAR_FORMS("aten::bitwise_xor", bitwise),
    {"aten::__and__.Tensor", bitwise},
    {"aten::__and__.Scalar", bitwise},
    {"aten::__iand__.Tensor", bitwise},
    {"aten::__or__.Tensor", bitwise},
    {"aten::__or__.Scalar", bitwise},
    {"aten::__ior__.Tensor", bitwise},
    {"aten::__xor__.Tensor", bitwise},
    {"aten::__xor__.Scalar", bitwise},
    STATOR_TENSOR_FORMS("aten::bitwise_left_shift", shift),
    STATOR_TENSOR_FORMS("aten::bitwise_right_shift", shift),
    {"aten::__lshift__.Tensor", shift},
    {"aten::__rshift__.Tensor", shift},
    STATOR_PLAIN_FORMS("aten::logical_and", comparison),
    STATOR_PLAIN_FORMS("aten::logical_or", comparison),
    STATOR_PLAIN_FORMS("aten::logical_xor", comparison),
    STATOR_COMPARISON("aten::eq"),
    STATOR_COMPARISON("aten::ne"),
    STATOR_COMPARISON("aten::lt"),
    STATOR_COMPARISON("aten::le"),
    STATOR_COMPARISON("aten::gt"),
    STATOR_COMPARISON("aten::ge"),
    {"aten::where.self", choice},
    {"aten::where.ScalarSelf", choice},
    {"aten::where.ScalarOther", choice},
    {"aten::where.Scalar", choice},
    STATOR_PLAIN_FORMS("aten::addcmul", ternary),
    STATOR_PLAIN_FORMS("aten::addcdiv", ternary_division),
    STATOR_TENSOR_FORMS("aten::lerp", interpolation),
    STATOR_SCALAR_FORMS("aten::lerp", interpolation),
    {"aten::clamp.Tensor", clamp_tensors},
    {"aten::clamp_.Tensor", clamp_tensors},
    {"aten::clamp_min.Tensor", clamp_tensors},
    {"aten::clamp_max.Tensor", clamp_tensors},
    {"aten::_prelu_kernel", parametric_relu},
    {"aten::silu_backward", arithmetic},
    {"aten::mish_backward", arithmetic},
    {"aten::mse_loss", loss},
    {"aten::huber_loss", huber_loss},
    {"aten::smooth_l1_loss", loss},
    {"aten::binary_cross_entropy", binary_cross_entropy},
    {"aten::masked_fill.Scalar", masked_fill},
    {"aten::masked_fill.Tensor", masked_fill},
    {"aten::masked_fill_.Scalar", masked_fill},
    {"aten::masked_fill_.Tensor", masked_fill},
};

}  // namespace

RuleTable binary_rules() { return kRules; }

}  // namespace stator
