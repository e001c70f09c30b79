// src/backends/openxla/emit/rules_pointwise.cpp: arithmetic, comparisons, bits and activations, element by
// element.
#include <cmath>
#include <limits>

#include "backends/openxla/emit/pointwise.h"
#include "backends/openxla/emit/rules.h"

namespace stator::openxla::rule {

static bool is_16_bit_float(DType dtype) { return is_float(dtype) && accumulation_type(dtype) != dtype; }

Tensor common(const Call& c, std::string_view name) {
  const DType type = c.result_dtype(), computed = accumulation_type(type);
  if (!is_16_bit_float(type)) return c.operand(name, computed, c.result_dims());
  Tensor narrow = c.operand(name, type, c.result_dims());
  // XLA takes a float that is rounded and widened again for the float.
  if (c.is_tensor(name) && c.tensor(name).dtype != type) narrow = c.b.barrier(narrow);
  return c.b.convert(narrow, computed);
}

Tensor common_or_original(const Call& c, std::string_view name) {
  if (c.is_tensor(name) && (c.is_on_cuda() || c.tensor(name).count() != 1)) return common(c, name);
  return c.operand(name, accumulation_type(c.result_dtype()), c.result_dims());
}

Outputs apply_unary(const Call& c, std::string_view op) { return {c.b.unary(op, wide_self(c))}; }

Outputs apply_binary(const Call& c, std::string_view op) {
  const DType dtype = accumulation_type(c.promoted({"self", "other"}));
  const DType type = is_float(c.result_dtype()) && is_integer(dtype) ? c.result_dtype() : dtype;
  if (accumulation_type(c.result_dtype()) == type)
    return {c.b.binary(op, common(c, "self"), common(c, "other"))};
  return {
      c.b.binary(op, c.operand("self", type, c.result_dims()), c.operand("other", type, c.result_dims()))};
}

Outputs apply_compare(const Call& c, Compare direction) {
  const DType dtype = c.promoted({"self", "other"});
  if (is_complex(dtype) && direction != Compare::kEq && direction != Compare::kNe)
    throw Unsupported{"an order of complex numbers"};  // torch's kernel raises
  return {c.b.compare(direction, c.operand("self", dtype, c.result_dims()),
                      c.operand("other", dtype, c.result_dims()))};
}

Outputs apply_bits(const Call& c, std::string_view op) {
  const DType dtype = c.result_dtype();
  return {
      c.b.binary(op, c.operand("self", dtype, c.result_dims()), c.operand("other", dtype, c.result_dims()))};
}

Outputs apply_logical(const Call& c, std::string_view op) {
  return {c.b.binary(op, c.operand("self", DType::kBool, c.result_dims()),
                     c.operand("other", DType::kBool, c.result_dims()))};
}

// CUDA's kernels of sums compute with a number as it is.
static Tensor summand(const Call& c, std::string_view name) {
  return c.is_on_cuda() ? common_or_original(c, name) : common(c, name);
}

// On the CPU a number, or the only element of a tensor, is rounded once more when it has been multiplied.
static Tensor times_alpha(const Call& c, const Tensor& x, std::string_view name) {
  if (!c.has("alpha") || (!c.is_tensor("alpha") && c.real("alpha") == 1)) return x;
  const Tensor product = c.b.mul(x, c.operand("alpha", x.dtype, x.dims));
  const bool is_single = !c.is_tensor(name) || c.tensor(name).count() == 1;
  if (x.dtype == c.result_dtype() || c.is_on_cuda() || !is_single) return product;
  return rounded_to(c.b, c.result_dtype(), product);
}

static Outputs plus_scaled(const Call& c, std::string_view op) {
  const Tensor a = summand(c, "self"), d = summand(c, "other");
  if (a.dtype == DType::kBool) return {c.b.either(a, d)};
  return {c.b.binary(op, a, times_alpha(c, d, "other"))};
}

Outputs add(const Call& c) { return plus_scaled(c, "add"); }
Outputs sub(const Call& c) { return plus_scaled(c, "subtract"); }

Outputs rsub(const Call& c) {
  const Tensor a = summand(c, "self"), d = summand(c, "other");
  return {c.b.sub(d, times_alpha(c, a, "self"))};
}

Outputs mul(const Call& c) {
  const Tensor a = common(c, "self"), d = common_or_original(c, "other");
  return {a.dtype == DType::kBool ? c.b.both(a, d) : c.b.mul(a, d)};
}

// XLA reads the six lowest bits of an exponent. Of the others six more at a time, for the base to the 64th.
static Tensor integer_power(Builder& b, Tensor base, const Tensor& exponent) {
  const int64_t bits = 8 * bytes_of(exponent.dtype);
  Tensor rest = is_signed(exponent.dtype) ? b.binary("maximum", exponent, b.like(exponent, 0)) : exponent;
  const Tensor plain = b.binary("power", base, exponent);  // negative exponents
  Tensor power = b.like(base, 1);
  for (int64_t done = 0; done < bits; done += 6) {
    power = b.mul(power, b.binary("power", base, b.binary("and", rest, b.like(rest, 63))));
    if (done + 6 >= bits) break;
    rest = b.binary("shift_right_logical", rest, b.like(rest, 6));
    for (int i = 0; i < 6; ++i) base = b.mul(base, base);
  }
  if (!is_signed(exponent.dtype)) return power;
  return b.select(b.compare(Compare::kLt, exponent, b.like(exponent, 0)), plain, power);
}

Outputs pow(const Call& c) {
  Tensor base = common(c, "self");
  const DType dtype = base.dtype;
  if (c.result_dtype() == DType::kF16 && !c.is_tensor("exponent") && std::abs(c.real("exponent")) == 0.5) {
    // torch's kernel for these calls std::pow, which leaves the signs of zero and infinity out.
    base = c.b.select(c.b.compare(Compare::kEq, base, c.b.like(base, 0)), c.b.like(base, 0), base);
    base = c.b.select(c.b.compare(Compare::kEq, base, c.b.lowest(dtype, base.dims)),
                      c.b.highest(dtype, base.dims), base);
  }
  if (!c.is_tensor("exponent") && (is_float(dtype) || is_integer(dtype))) {
    const double exponent = c.real("exponent");
    if (exponent == 2) return {c.b.mul(base, base)};
    if (exponent == 3) return {c.b.mul(c.b.mul(base, base), base)};
    if (exponent == 1) return {base};
    if (exponent == 0) return {c.b.like(base, 1)};
    if (is_float(dtype) && exponent == 0.5) return {c.b.unary("sqrt", base)};
    if (is_float(dtype) && exponent == -0.5) return {c.b.unary("rsqrt", base)};
    if (is_float(dtype) && exponent == -1) return {c.b.div(c.b.like(base, 1), base)};
  }
  if (is_integer(dtype)) return {integer_power(c.b, base, common(c, "exponent"))};
  return {c.b.binary("power", base, common(c, "exponent"))};
}

static Outputs extreme(const Call& c, std::string_view op) {
  const auto [a, d] = operands(c, c.result_dtype());
  return {c.b.binary(op, a, d)};
}
Outputs maximum(const Call& c) { return extreme(c, "maximum"); }
Outputs minimum(const Call& c) { return extreme(c, "minimum"); }

// NaN loses.
static Outputs number_extreme(const Call& c, std::string_view op) {
  const auto [a, d] = operands(c, c.result_dtype());
  if (!is_float(a.dtype)) return {c.b.binary(op, a, d)};
  return {c.b.select(c.b.is_nan(a), d, c.b.select(c.b.is_nan(d), a, c.b.binary(op, a, d)))};
}
Outputs fmax(const Call& c) { return number_extreme(c, "maximum"); }
Outputs fmin(const Call& c) { return number_extreme(c, "minimum"); }

Outputs clamp(const Call& c) {
  Tensor x = self(c);
  if (c.has("min")) x = c.b.binary("maximum", x, c.operand("min", x.dtype, x.dims));
  if (c.has("max")) x = c.b.binary("minimum", x, c.operand("max", x.dtype, x.dims));
  return {x};
}

Outputs hardtanh(const Call& c) {
  const Tensor x = self(c);
  const Tensor low = c.b.binary("maximum", x, c.b.like(x, c.real("min_val", -1)));
  return {c.b.binary("minimum", low, c.b.like(x, c.real("max_val", 1)))};
}

Outputs where(const Call& c) {
  const DType dtype = c.result_dtype();
  return {c.b.select(c.operand("condition", DType::kBool, c.result_dims()),
                     c.operand("self", dtype, c.result_dims()), c.operand("other", dtype, c.result_dims()))};
}

Outputs masked_fill(const Call& c) {
  const Tensor x = self(c);
  return {c.b.select(c.operand("mask", DType::kBool, x.dims), c.operand("value", x.dtype, x.dims), x)};
}

Outputs identity(const Call& c) { return {c.operand("self", c.result_dtype())}; }

Outputs to_copy(const Call& c) { return {c.b.convert(c.tensor("self"), c.result_dtype())}; }

Outputs convert_element_type(const Call& c) { return {c.b.convert(c.tensor("a"), c.result_dtype())}; }

Outputs view_dtype(const Call& c) {
  const Tensor x = c.tensor("self");
  if (x.dims != c.result_dims() || bytes_of(x.dtype) != bytes_of(c.result_dtype()) || is_complex(x.dtype) ||
      is_complex(c.result_dtype()) || x.dtype == DType::kBool || c.result_dtype() == DType::kBool)
    throw Unsupported{"a view as elements of another size"};
  return {c.b.bitcast(x, c.result_dtype())};
}

Outputs neg(const Call& c) { return {c.b.unary("negate", self(c))}; }

Outputs abs(const Call& c) {
  const Tensor x = c.tensor("self");
  if (x.dtype == DType::kBool) return {x};
  if (!is_signed(x.dtype) && is_integer(x.dtype)) return {x};
  return {c.b.unary("abs", x, real_part_of(x.dtype))};
}

Outputs sign(const Call& c) {
  const Tensor x = c.tensor("self");
  if (x.dtype == DType::kBool) return {x};
  if (is_integer(x.dtype) && !is_signed(x.dtype)) return {c.b.convert(c.b.convert(x, DType::kBool), x.dtype)};
  if (!is_float(x.dtype)) return {c.b.unary("sign", x)};
  // torch gives 0 for NaN and for both zeros.
  const Tensor zero = c.b.like(x, 0);
  const Tensor below = c.b.select(c.b.compare(Compare::kLt, x, zero), c.b.like(x, -1), zero);
  return {c.b.select(c.b.compare(Compare::kGt, x, zero), c.b.like(x, 1), below)};
}

Outputs reciprocal(const Call& c) {
  const Tensor x = wide_self(c);
  return {c.b.div(c.b.like(x, 1), x)};
}

// Rounding leaves integers as they are.
static Outputs to_whole(const Call& c, std::string_view op) {
  const Tensor x = self(c);
  return {is_float(x.dtype) ? c.b.unary(op, x) : x};
}
Outputs floor(const Call& c) { return to_whole(c, "floor"); }
Outputs ceil(const Call& c) { return to_whole(c, "ceil"); }
Outputs round(const Call& c) { return to_whole(c, "round_nearest_even"); }
Outputs trunc(const Call& c) {
  const Tensor x = self(c);
  return {is_float(x.dtype) ? truncated(c.b, x) : x};
}

Outputs round_decimals(const Call& c) {
  const Tensor x = wide_self(c);
  if (!is_float(x.dtype)) throw Unsupported{"decimals of integers"};
  const int64_t decimals = c.integer("decimals", 0);
  const Tensor ten = c.b.like(x, std::pow(10.0, static_cast<double>(std::abs(decimals))));
  if (decimals < 0) return {c.b.mul(c.b.unary("round_nearest_even", c.b.div(x, ten)), ten)};
  return {c.b.div(c.b.unary("round_nearest_even", c.b.mul(x, ten)), ten)};
}

// A quotient of logarithms, in 64 bits where the result has fewer: powers of the base have whole logarithms.
// In 64 bits what is next to a whole number is taken for it.
static Outputs logarithm(const Call& c, double base) {
  Builder& b = c.b;
  const Tensor x = wide_self(c);
  if (is_complex(x.dtype)) return {b.mul(b.unary("log", x), b.like(x, 1 / std::log(base)))};
  const Tensor wide = b.unary("log", b.convert(x, DType::kF64));
  const Tensor quotient = b.div(wide, b.like(wide, std::log(base)));
  if (x.dtype != DType::kF64) return {b.convert(quotient, x.dtype)};
  const Tensor whole = b.unary("round_nearest_even", quotient);
  const Tensor gap = b.unary("abs", b.sub(quotient, whole));
  const Tensor near = b.mul(b.unary("abs", quotient), b.like(quotient, 5e-16));
  return {b.select(b.compare(Compare::kLe, gap, near), whole, quotient)};
}
Outputs log2(const Call& c) { return logarithm(c, 2); }
Outputs log10(const Call& c) { return logarithm(c, 10); }
Outputs exp2(const Call& c) {
  const Tensor x = wide_self(c);
  return {c.b.binary("power", c.b.like(x, 2), x)};
}

Outputs relu(const Call& c) {
  const Tensor x = self(c);
  return {c.b.binary("maximum", x, c.b.like(x, 0))};
}

Outputs leaky_relu(const Call& c) {
  const Tensor x = wide_self(c);
  return {c.b.select(c.b.compare(Compare::kGt, x, c.b.like(x, 0)), x,
                     c.b.mul(x, c.b.like(x, c.real("negative_slope", 0.01))))};
}

Outputs elu(const Call& c) {
  const Tensor x = wide_self(c);
  const double alpha = c.real("alpha", 1), scale = c.real("scale", 1), input_scale = c.real("input_scale", 1);
  const Tensor below = c.b.mul(c.b.unary("exponential_minus_one", c.b.mul(x, c.b.like(x, input_scale))),
                               c.b.like(x, alpha * scale));
  return {c.b.select(c.b.compare(Compare::kGt, x, c.b.like(x, 0)), c.b.mul(x, c.b.like(x, scale)), below)};
}

Outputs gelu(const Call& c) {
  Builder& b = c.b;
  const Tensor x = wide_self(c), half = b.mul(x, b.like(x, 0.5));
  if (c.string("approximate", "none") == "tanh") {
    const Tensor cube = b.mul(b.mul(b.mul(x, x), x), b.like(x, 0.044715));
    const Tensor inner = b.mul(b.add(x, cube), b.like(x, std::sqrt(2 / M_PI)));
    return {b.mul(half, b.add(b.unary("tanh", inner), b.like(x, 1)))};
  }
  return {b.mul(half, b.add(b.unary("chlo.erf", b.mul(x, b.like(x, std::sqrt(0.5)))), b.like(x, 1)))};
}

Outputs silu(const Call& c) {
  const Tensor x = wide_self(c);
  return {c.b.mul(x, c.b.unary("logistic", x))};
}

// -- Tests

Outputs isnan(const Call& c) {
  const Tensor x = c.tensor("self");
  return {is_float(x.dtype) || is_complex(x.dtype) ? c.b.is_nan(x) : c.b.full(DType::kBool, x.dims, 0)};
}

Outputs isinf(const Call& c) {
  const Tensor x = c.tensor("self");
  if (is_complex(x.dtype)) throw Unsupported{"complex numbers"};
  if (!is_float(x.dtype)) return {c.b.full(DType::kBool, x.dims, 0)};
  const Tensor magnitude = c.b.unary("abs", x);
  return {c.b.compare(Compare::kEq, magnitude, c.b.highest(x.dtype, x.dims))};
}

Outputs signbit(const Call& c) {
  const Tensor x = c.tensor("self");
  if (x.dtype == DType::kBool) return {c.b.full(DType::kBool, x.dims, 0)};
  if (is_integer(x.dtype)) return {c.b.compare(Compare::kLt, x, c.b.like(x, 0))};
  if (is_complex(x.dtype)) throw Unsupported{"complex numbers"};
  const DType whole = x.dtype == DType::kF64   ? DType::kI64
                      : x.dtype == DType::kF32 ? DType::kI32
                                               : DType::kI16;
  const Tensor bits = c.b.bitcast(x, whole);
  return {c.b.compare(Compare::kLt, bits, c.b.like(bits, 0))};
}

Outputs copysign(const Call& c) {
  const DType dtype = c.result_dtype();
  Builder& b = c.b;
  const auto [a, d] = operands(c, dtype);
  const DType whole = dtype == DType::kF64 ? DType::kI64 : dtype == DType::kF32 ? DType::kI32 : DType::kI16;
  const Tensor bits = b.bitcast(d, whole), magnitude = b.unary("abs", a);
  return {b.select(b.compare(Compare::kLt, bits, b.like(bits, 0)), b.unary("negate", magnitude), magnitude)};
}

Outputs bitwise_not(const Call& c) { return {c.b.unary("not", c.tensor("self"))}; }
Outputs logical_not(const Call& c) { return {c.b.invert(c.b.convert(c.tensor("self"), DType::kBool))}; }

// torch gives 0, or the sign, for shifts by more than the width, and so does XLA; negative ones are
// undefined.
Outputs shift_right(const Call& c) {
  const auto [a, d] = operands(c, c.result_dtype());
  return {c.b.binary(is_signed(a.dtype) ? "shift_right_arithmetic" : "shift_right_logical", a, d)};
}

Outputs atan2(const Call& c) {
  const auto [a, d] = common_operands(c);
  return {c.b.binary("atan2", a, d)};
}

Outputs hypot(const Call& c) {
  Builder& b = c.b;
  const auto [x, y] = common_operands(c);
  const Tensor u = b.unary("abs", x), v = b.unary("abs", y);
  const Tensor large = b.binary("maximum", u, v), small = b.binary("minimum", u, v);
  const Tensor ratio =
      b.div(small, b.select(b.compare(Compare::kEq, large, b.like(large, 0)), b.like(large, 1), large));
  const Tensor length = b.mul(large, b.unary("sqrt", b.add(b.mul(ratio, ratio), b.like(ratio, 1))));
  // An infinite side decides, whatever the other one is.
  const Tensor infinity = b.highest(u.dtype, u.dims);
  const Tensor infinite =
      b.either(b.compare(Compare::kEq, u, infinity), b.compare(Compare::kEq, v, infinity));
  return {b.select(infinite, infinity, length)};
}

// XLA gives NaN at 0, torch the infinity of the other sign.
Outputs digamma(const Call& c) {
  Builder& b = c.b;
  const Tensor x = wide_self(c);
  const Tensor pole = b.div(b.like(x, -1), x);
  return {b.select(b.compare(Compare::kEq, x, b.like(x, 0)), pole, b.unary("chlo.digamma", x))};
}

Outputs zeta(const Call& c) {
  const auto [a, d] = common_operands(c);
  return {c.b.binary("chlo.zeta", a, d)};
}

Outputs nextafter(const Call& c) {
  const auto [a, d] = operands(c, c.result_dtype());
  return {c.b.binary("chlo.next_after", a, d)};
}

}  // namespace stator::openxla::rule
