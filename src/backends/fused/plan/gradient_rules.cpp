// src/backends/fused/plan/gradient_rules.cpp: derivatives as terms, in the order of operations of torch's
// kernels.
#include "backends/fused/plan/gradient_rules.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace stator::fused::gradients {
namespace {

Type float_result(NodeTerms& n) {
  if (!is_float(n.result())) throw NotFused{};
  return n.result();
}
TermId gradient(NodeTerms& n) { return n.operand("grad_output", float_result(n)); }
TermId given(NodeTerms& n, const char* name) { return n.operand(name, float_result(n)); }
TermId number(NodeTerms& n, double value) { return n.number(value, float_result(n)); }

TermId logistic(NodeTerms& n, TermId x) {
  return n.div(number(n, 1), n.add(number(n, 1), n.make(Op::exp, n.make(Op::neg, x))));
}

}  // namespace

TermId tanh_backward(NodeTerms& n) {
  const TermId y = given(n, "output");
  return n.mul(gradient(n), n.sub(number(n, 1), n.mul(y, y)));
}

TermId sigmoid_backward(NodeTerms& n) {
  const TermId y = given(n, "output");
  return n.mul(gradient(n), n.mul(n.sub(number(n, 1), y), y));
}

TermId threshold_backward(NodeTerms& n) {
  const TermId is_below = n.make(Op::less_equal, n.exact("self"), number(n, n.real("threshold", 0)));
  return n.select(is_below, number(n, 0), gradient(n));
}

TermId leaky_relu_backward(NodeTerms& n) {
  const TermId scaled = n.mul(gradient(n), number(n, n.real("negative_slope", 0.01)));
  return n.select(n.make(Op::less, number(n, 0), n.exact("self")), gradient(n), scaled);
}

TermId hardtanh_backward(NodeTerms& n) {
  const TermId x = n.exact("self");
  const TermId is_below = n.make(Op::less_equal, x, number(n, n.real("min_val", -1)));
  const TermId is_above = n.make(Op::less_equal, number(n, n.real("max_val", 1)), x);
  return n.select(n.make(Op::bit_or, is_below, is_above), number(n, 0), gradient(n));
}

TermId silu_backward(NodeTerms& n) {
  const TermId x = given(n, "self"), sigmoid = logistic(n, x);
  const TermId slope = n.add(number(n, 1), n.mul(x, n.sub(number(n, 1), sigmoid)));
  return n.mul(n.mul(gradient(n), sigmoid), slope);
}

TermId gelu_backward(NodeTerms& n) {
  const TermId x = given(n, "self");
  if (n.string("approximate", "none") == "tanh") {
    const double beta = std::numbers::sqrt2 * 2 * std::numbers::inv_sqrtpi * 0.5, kappa = 0.044715;
    const TermId square = n.mul(x, x);
    const TermId inner = n.mul(number(n, beta), n.add(x, n.mul(number(n, kappa), n.mul(square, x))));
    const TermId tanh = n.make(Op::tanh, inner);
    const TermId left = n.mul(number(n, 0.5), x), right = n.add(number(n, 1), tanh);
    const TermId slope_of_tanh = n.sub(number(n, 1), n.mul(tanh, tanh));
    const TermId slope_of_inner =
        n.mul(number(n, beta), n.add(number(n, 1), n.mul(number(n, 3 * kappa), square)));
    const TermId of_left = n.mul(number(n, 0.5), right);
    const TermId of_right = n.mul(n.mul(left, slope_of_tanh), slope_of_inner);
    return n.mul(gradient(n), n.add(of_left, of_right));
  }
  const double scale = 2 * std::numbers::inv_sqrtpi / std::numbers::sqrt2 * 0.5;
  const TermId erf = n.make(Op::erf, n.mul(x, number(n, 1 / std::numbers::sqrt2)));
  const TermId distribution = n.mul(number(n, 0.5), n.add(number(n, 1), erf));
  const TermId power = n.make(Op::exp, n.mul(n.mul(x, x), number(n, -0.5)));
  const TermId density = n.mul(power, number(n, scale));
  return n.mul(gradient(n), n.add(distribution, n.mul(x, density)));
}

TermId softmax_backward(NodeTerms& n) {
  if (n.dtype("grad_output") != n.result_dtype()) throw NotFused{};
  const TermId y = given(n, "output"), g = gradient(n);
  return n.mul(y, n.sub(g, n.make(Op::reduce_sum, n.mul(g, y))));
}

TermId log_softmax_backward(NodeTerms& n) {
  if (n.dtype("grad_output") != n.result_dtype()) throw NotFused{};
  const TermId g = gradient(n);
  return n.sub(g, n.mul(n.make(Op::exp, given(n, "output")), n.make(Op::reduce_sum, g)));
}

// A row that is masked as a whole comes out as zeros.
TermId safe_softmax(NodeTerms& n) {
  const TermId x = given(n, "self"), most = n.make(Op::reduce_max, x);
  const TermId power = n.make(Op::exp, n.sub(x, most));
  const TermId is_masked = n.make(Op::equal, most, number(n, -std::numeric_limits<double>::infinity()));
  return n.select(is_masked, number(n, 0), n.div(power, n.make(Op::reduce_sum, power)));
}

}  // namespace stator::fused::gradients
