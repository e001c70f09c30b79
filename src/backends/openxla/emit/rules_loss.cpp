// src/backends/openxla/emit/rules_loss.cpp: losses whose kernels check their arguments.
#include "backends/openxla/emit/rules.h"

namespace stator::openxla::rule {

// 0: each element, 1: the mean, 2: the sum.
static Tensor reduced(const Call& c, const Tensor& x) {
  const int64_t reduction = c.integer("reduction", 1);
  if (reduction == 0) return x;
  const Tensor total = c.b.reduce(x, c.b.full(x.dtype, {}, 0), range(0, x.rank()), "add");
  return reduction == 2 ? total : c.b.div(total, c.b.like(total, static_cast<double>(x.count())));
}

// Logarithms are not below -100, as in torch's kernel.
Outputs binary_cross_entropy(const Call& c) {
  Builder& b = c.b;
  const DType type = accumulation_type(c.result_dtype());
  const Tensor x = c.operand("self", type), zero = b.like(x, 0), one = b.like(x, 1);
  const Tensor target = c.operand("target", type, x.dims);
  b.require(b.both(b.compare(Compare::kGe, x, zero), b.compare(Compare::kLe, x, one)));
  const Tensor least = b.like(x, -100);
  const Tensor of_no = b.binary("maximum", b.unary("log_plus_one", b.unary("negate", x)), least);
  const Tensor of_yes = b.binary("maximum", b.unary("log", x), least);
  Tensor loss = b.sub(b.mul(b.sub(target, one), of_no), b.mul(target, of_yes));
  if (c.has("weight")) loss = b.mul(loss, c.operand("weight", type, x.dims));
  return {reduced(c, loss)};
}

}  // namespace stator::openxla::rule
