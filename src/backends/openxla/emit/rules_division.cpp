// src/backends/openxla/emit/rules_division.cpp: quotients and remainders, rounded as Python and torch round
// them.
#include "backends/openxla/emit/pointwise.h"
#include "backends/openxla/emit/rules.h"

namespace stator::openxla::rule {

// Python's modulo of a division that rounds down; integers divide by rounding to zero in XLA.
Tensor floor_divide(Builder& b, const Tensor& x, const Tensor& y, DType steps) {
  const Tensor zero = b.like(x, 0);
  const Tensor rest = b.binary("remainder", x, y);
  const Tensor uneven = b.compare(Compare::kNe, rest, zero);
  if (is_float(x.dtype)) {
    // As CPython and torch: from the remainder, so that 1 // 0.1 is 9.
    const Tensor opposite =
        b.compare(Compare::kNe, b.compare(Compare::kLt, rest, zero), b.compare(Compare::kLt, y, zero));
    const auto step = [&](const Tensor& value) { return rounded_to(b, steps, value); };
    const Tensor one = b.like(x, 1), quotient = step(b.div(step(b.sub(x, rest)), y));
    const Tensor exact = b.select(b.both(uneven, opposite), step(b.sub(quotient, one)), quotient);
    Tensor floor = b.unary("floor", exact);
    floor = b.select(b.compare(Compare::kGt, b.sub(exact, floor), b.like(x, 0.5)), b.add(floor, one), floor);
    const Tensor plain = step(b.div(x, y));
    floor = b.select(b.compare(Compare::kEq, exact, zero), b.mul(plain, zero), floor);
    return b.select(b.compare(Compare::kEq, y, zero), plain, floor);
  }
  const Tensor quotient = b.div(x, y);
  if (!is_signed(x.dtype)) return quotient;
  const Tensor opposite =
      b.compare(Compare::kNe, b.compare(Compare::kLt, rest, zero), b.compare(Compare::kLt, y, zero));
  return b.select(b.both(uneven, opposite), b.sub(quotient, b.like(x, 1)), quotient);
}

static Tensor modulo(Builder& b, const Tensor& x, const Tensor& y) {
  const Tensor zero = b.like(x, 0), rest = b.binary("remainder", x, y);
  if (!is_signed(x.dtype) && !is_float(x.dtype)) return rest;
  const Tensor opposite =
      b.compare(Compare::kNe, b.compare(Compare::kLt, rest, zero), b.compare(Compare::kLt, y, zero));
  return b.select(b.both(b.compare(Compare::kNe, rest, zero), opposite), b.add(rest, y), rest);
}

// Eager kernels raise where an integer is divided by 0.
static void require_divisor(const Call& c) {
  const DType type = accumulation_type(c.result_dtype());
  if (!is_integer(type) || (!c.is_tensor("other") && c.real("other") != 0)) return;
  const Tensor divisor = c.operand("other", type);
  c.b.require(c.b.compare(Compare::kNe, divisor, c.b.like(divisor, 0)));
}

static std::pair<Tensor, Tensor> dividend_and_divisor(const Call& c) {
  require_divisor(c);
  return {common(c, "self"), common_or_original(c, "other")};
}

static Tensor quotient(const Call& c, const Tensor& a, const Tensor& d) {
  // CUDA's kernels multiply by the reciprocal of a number themselves.
  return c.is_on_cuda() && !c.is_tensor("other") ? c.b.binary("divide", a, d) : c.b.div(a, d);
}

Outputs div(const Call& c) { return {quotient(c, common(c, "self"), common_or_original(c, "other"))}; }

// Kernels round each step to 16-bit floats, but not where the divisor is one number.
static DType type_of_steps(const Call& c) {
  const bool is_number = !c.is_tensor("other") || (!c.is_on_cuda() && c.tensor("other").count() == 1);
  return is_number ? accumulation_type(c.result_dtype()) : c.result_dtype();
}

Outputs div_mode(const Call& c) {
  const auto [a, d] = dividend_and_divisor(c);
  const std::string_view mode = c.string("rounding_mode", "");
  if (mode == "floor") return {floor_divide(c.b, a, d, type_of_steps(c))};
  const Tensor whole = quotient(c, a, d);
  if (mode.empty() || !is_float(whole.dtype)) return {whole};
  return {truncated(c.b, rounded_to(c.b, type_of_steps(c), whole))};
}

Outputs floor_div(const Call& c) {
  const auto [a, d] = dividend_and_divisor(c);
  return {floor_divide(c.b, a, d, type_of_steps(c))};
}

Outputs remainder(const Call& c) {
  require_divisor(c);
  const auto [a, d] = common_operands(c);
  return {modulo(c.b, a, d)};
}

Outputs fmod(const Call& c) {
  require_divisor(c);
  const auto [a, d] = common_operands(c);
  return {c.b.binary("remainder", a, d)};
}

}  // namespace stator::openxla::rule
