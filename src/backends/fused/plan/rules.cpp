// src/backends/fused/plan/rules.cpp: operators as terms. Constants and order of operations are those of
// torch's kernels where rounding could tell.
#include <cmath>
#include <limits>
#include <unordered_map>

#include "backends/fused/plan/gradient_rules.h"
#include "backends/fused/plan/node_terms.h"

namespace stator::fused {
namespace {

using ir::DType;

Type float_result(NodeTerms& n) {
  if (!is_float(n.result())) throw NotFused{};
  return n.result();
}

TermId self(NodeTerms& n) { return n.operand("self", n.result()); }
TermId float_self(NodeTerms& n) { return n.operand("self", float_result(n)); }

// An operand as TensorIterator hands it to a kernel of a sum or product: a wider tensor is rounded to the
// result's type, and so is a number, but not on CUDA.
TermId common(NodeTerms& n, const char* name) {
  const TermId term = n.operand(name, n.result());
  if (n.is_tensor(name) ? n.dtype(name) == n.result_dtype() : n.is_on_cuda()) return term;
  return n.rounded(term, n.result_dtype());
}
// The same, but for kernels of the CPU that read a second operand of one element as what it was before; those
// of CUDA do so with numbers.
TermId common_or_original(NodeTerms& n, const char* name) {
  const bool is_original = n.is_on_cuda() ? !n.is_tensor(name) : n.is_single(name);
  return is_original ? n.operand(name, n.result()) : common(n, name);
}

// On the CPU a single element is rounded once more when it has been multiplied.
TermId scaled_other(NodeTerms& n, const char* name) {
  const TermId other = common(n, name);
  if (!n.has("alpha") || n.real("alpha", 1) == 1) return other;
  const TermId product = n.mul(other, n.operand("alpha", n.result()));
  return n.is_single(name) && !n.is_on_cuda() ? n.rounded(product, n.result_dtype()) : product;
}
TermId add(NodeTerms& n) { return n.add(common(n, "self"), scaled_other(n, "other")); }
TermId sub(NodeTerms& n) {
  if (n.result() == Type::boolean) throw NotFused{};
  return n.sub(common(n, "self"), scaled_other(n, "other"));
}
TermId rsub(NodeTerms& n) {
  if (n.result() == Type::boolean) throw NotFused{};
  return n.sub(common(n, "other"), scaled_other(n, "self"));
}
TermId mul(NodeTerms& n) { return n.mul(common(n, "self"), common_or_original(n, "other")); }
TermId div(NodeTerms& n) {
  float_result(n);
  return n.div(common(n, "self"), common_or_original(n, "other"));
}

TermId addcmul(NodeTerms& n) {
  const Type type = float_result(n);
  const TermId first = common(n, "tensor1"), second = common(n, "tensor2");
  TermId scaled = n.real("value", 1) == 1 ? first : n.mul(n.operand("value", type), first);
  return n.add(common(n, "self"), n.mul(scaled, second));
}

TermId maximum(NodeTerms& n) { return n.make(Op::maximum, self(n), n.operand("other", n.result())); }
TermId minimum(NodeTerms& n) { return n.make(Op::minimum, self(n), n.operand("other", n.result())); }

// As torch's kernels: what equals its bound, a zero of the other sign too, comes out unchanged.
TermId bounded(NodeTerms& n, Op op, TermId x, TermId bound) {
  return n.select(n.make(Op::equal, x, bound), x, n.make(op, x, bound));
}
TermId between(NodeTerms& n, TermId x, double low, double high) {
  const Type type = n.type_of(x);
  return bounded(n, Op::minimum, bounded(n, Op::maximum, x, n.number(low, type)), n.number(high, type));
}

TermId limited(NodeTerms& n, TermId x, const char* low, const char* high) {
  if (n.type_of(x) == Type::boolean) throw NotFused{};
  if (n.has(low)) x = bounded(n, Op::maximum, x, n.operand(low, n.type_of(x)));
  if (n.has(high)) x = bounded(n, Op::minimum, x, n.operand(high, n.type_of(x)));
  return x;
}
TermId clamp(NodeTerms& n) { return limited(n, self(n), "min", "max"); }

// The power of one half. torch's kernel of float16 is `std::pow`, whose results for -infinity and -0 are not
// those of a square root.
TermId root(NodeTerms& n, TermId x) {
  if (n.dtype("self") != DType::kF16) return n.make(Op::sqrt, x);
  const auto number = [&](double value) { return n.number(value, n.type_of(x)); };
  const double infinity = std::numeric_limits<double>::infinity();
  x = n.select(n.make(Op::equal, x, number(0)), number(0), x);
  return n.make(Op::sqrt, n.select(n.make(Op::equal, x, number(-infinity)), number(infinity), x));
}

TermId pow(NodeTerms& n) {
  const TermId x = float_self(n);
  const double exponent = n.real("exponent", 0);
  const Type type = n.type_of(x);
  if (exponent == 2) return n.mul(x, x);
  if (exponent == 3) return n.mul(n.mul(x, x), x);
  if (exponent == 0.5) return root(n, x);
  if (exponent == -0.5) return n.div(n.number(1, type), root(n, x));
  if (exponent == -1) return n.div(n.number(1, type), x);
  if (exponent == -2) return n.div(n.number(1, type), n.mul(x, x));
  throw NotFused{};
}
TermId square(NodeTerms& n) {
  const TermId x = float_self(n);
  return n.mul(x, x);
}

template <Op op>
TermId unary(NodeTerms& n) {
  return n.make(op, float_self(n));
}
TermId signed_unary(NodeTerms& n, Op op) {
  if (n.result() == Type::boolean) throw NotFused{};
  return n.make(op, self(n));
}
TermId neg(NodeTerms& n) { return signed_unary(n, Op::neg); }
TermId abs(NodeTerms& n) { return signed_unary(n, Op::abs); }
constexpr auto floor = unary<Op::floor>;
constexpr auto ceil = unary<Op::ceil>;
constexpr auto trunc = unary<Op::trunc>;
constexpr auto sqrt = unary<Op::sqrt>;
constexpr auto exp = unary<Op::exp>;
constexpr auto log = unary<Op::log>;
constexpr auto tanh = unary<Op::tanh>;
constexpr auto erf = unary<Op::erf>;

TermId inverse(NodeTerms& n, TermId x) { return n.div(n.number(1, n.type_of(x)), x); }
TermId reciprocal(NodeTerms& n) { return inverse(n, float_self(n)); }
TermId rsqrt(NodeTerms& n) { return n.make(Op::rsqrt, float_self(n)); }

TermId logistic(NodeTerms& n, TermId x) {
  return inverse(n, n.add(n.number(1, n.type_of(x)), n.make(Op::exp, n.make(Op::neg, x))));
}
TermId sigmoid(NodeTerms& n) { return logistic(n, float_self(n)); }

// -- Activations --------------------------------------------------------------------------------------------

TermId relu(NodeTerms& n) {
  if (n.result() == Type::boolean) throw NotFused{};
  const TermId x = self(n);
  return bounded(n, Op::maximum, x, n.number(0, n.type_of(x)));
}
TermId relu6(NodeTerms& n) { return between(n, float_self(n), 0, 6); }
TermId leaky_relu(NodeTerms& n) {
  const TermId x = float_self(n);
  const Type type = n.type_of(x);
  const TermId negative = n.mul(x, n.number(n.real("negative_slope", 0.01), type));
  return n.select(n.make(Op::less, n.number(0, type), x), x, negative);
}
TermId silu(NodeTerms& n) {
  const TermId x = float_self(n);
  return n.div(x, n.add(n.number(1, n.type_of(x)), n.make(Op::exp, n.make(Op::neg, x))));
}
TermId gelu(NodeTerms& n) {
  const TermId x = float_self(n);
  const Type type = n.type_of(x);
  const auto number = [&](double value) { return n.number(value, type); };
  if (n.string("approximate", "none") == "tanh") {
    const TermId cubic = n.mul(n.mul(n.mul(x, x), x), number(0.044715));
    const TermId inner = n.mul(number(M_SQRT2 * M_2_SQRTPI * 0.5), n.add(x, cubic));
    return n.mul(n.mul(number(0.5), x), n.add(number(1), n.make(Op::tanh, inner)));
  }
  const TermId cdf = n.add(number(1), n.make(Op::erf, n.mul(x, number(M_SQRT1_2))));
  return n.mul(n.mul(x, number(0.5)), cdf);
}
TermId hardtanh(NodeTerms& n) {
  return between(n, float_self(n), n.real("min_val", -1), n.real("max_val", 1));
}
TermId clipped_sixth(NodeTerms& n, TermId x) {  // min(max(x + 3, 0), 6)
  const Type type = n.type_of(x);
  return n.make(Op::minimum, n.make(Op::maximum, n.add(x, n.number(3, type)), n.number(0, type)),
                n.number(6, type));
}
TermId hardsigmoid(NodeTerms& n) {
  const TermId x = float_self(n);
  return n.div(clipped_sixth(n, x), n.number(6, n.type_of(x)));
}
TermId hardswish(NodeTerms& n) {
  const TermId x = float_self(n);
  return n.div(n.mul(x, clipped_sixth(n, x)), n.number(6, n.type_of(x)));
}

// -- Comparisons and logic
// ------------------------------------------------------------------------------------

// Both operands in one type: equal element types, or a number that the tensor's type holds. Other pairs
// follow torch's promotion, which is left to torch.
std::pair<TermId, TermId> compared(NodeTerms& n) {
  const TermId a = n.exact("self");
  const Type type = n.type_of(a);
  if (n.is_tensor("other")) {
    if (n.dtype("self") != n.dtype("other")) throw NotFused{};
    return {a, n.exact("other")};
  }
  if (type == Type::boolean) throw NotFused{};
  const TermId b = n.operand("other", type);
  return {a, is_float(type) ? n.rounded(b, n.dtype("self")) : b};
}
template <Op op, bool swapped>
TermId comparison(NodeTerms& n) {
  const auto [a, b] = compared(n);
  return swapped ? n.make(op, b, a) : n.make(op, a, b);
}
constexpr auto equal = comparison<Op::equal, false>;
constexpr auto unequal = comparison<Op::unequal, false>;
constexpr auto less = comparison<Op::less, false>;
constexpr auto less_equal = comparison<Op::less_equal, false>;
constexpr auto greater = comparison<Op::less, true>;
constexpr auto greater_equal = comparison<Op::less_equal, true>;

TermId truth(NodeTerms& n, const char* name) { return n.convert(n.exact(name), Type::boolean); }
TermId inverted(NodeTerms& n, TermId truth) { return n.make(Op::bit_xor, truth, n.number(1, Type::boolean)); }
TermId logical_not(NodeTerms& n) { return inverted(n, truth(n, "self")); }
TermId logical_and(NodeTerms& n) { return n.make(Op::bit_and, truth(n, "self"), truth(n, "other")); }
TermId logical_or(NodeTerms& n) { return n.make(Op::bit_or, truth(n, "self"), truth(n, "other")); }

TermId bits(NodeTerms& n, Op op) {
  if (is_float(n.result())) throw NotFused{};
  return n.make(op, self(n), n.operand("other", n.result()));
}
TermId bitwise_and(NodeTerms& n) { return bits(n, Op::bit_and); }
TermId bitwise_or(NodeTerms& n) { return bits(n, Op::bit_or); }
TermId bitwise_xor(NodeTerms& n) { return bits(n, Op::bit_xor); }
TermId bitwise_not(NodeTerms& n) {
  if (n.result() != Type::boolean) throw NotFused{};
  return inverted(n, self(n));
}

TermId where(NodeTerms& n) {
  if (n.dtype("condition") != DType::kBool) throw NotFused{};
  return n.select(n.operand("condition", Type::boolean), self(n), n.operand("other", n.result()));
}
TermId masked_fill(NodeTerms& n) {
  if (n.dtype("mask") != DType::kBool) throw NotFused{};
  return n.select(n.operand("mask", Type::boolean), n.operand("value", n.result()), self(n));
}

// A conversion is a place where the program asks for the precision of a type.
TermId copy(NodeTerms& n) {
  const TermId converted = n.convert(n.exact("self"), n.result());
  return n.dtype("self") == n.result_dtype() ? converted : n.rounded(converted, n.result_dtype());
}

TermId unused(NodeTerms&) { throw NotFused{}; }  // the plan makes the terms

// -- Reductions
// -----------------------------------------------------------------------------------------------

TermId sum_of(NodeTerms& n) {
  if (n.result() == Type::boolean) throw NotFused{};
  return n.make(Op::reduce_sum, self(n));
}
TermId sum(NodeTerms& n) { return sum_of(n); }
TermId mean_of(NodeTerms& n, TermId x) { return n.div(n.make(Op::reduce_sum, x), n.row_size(n.type_of(x))); }
TermId mean(NodeTerms& n) { return mean_of(n, float_self(n)); }
TermId amax(NodeTerms& n) { return n.make(Op::reduce_max, self(n)); }
TermId amin(NodeTerms& n) { return n.make(Op::reduce_min, self(n)); }

TermId softmax(NodeTerms& n) {
  const TermId x = float_self(n);
  const TermId power = n.make(Op::exp, n.sub(x, n.make(Op::reduce_max, x)));
  return n.div(power, n.make(Op::reduce_sum, power));
}
TermId log_softmax(NodeTerms& n) {
  const TermId x = float_self(n);
  const TermId shifted = n.sub(x, n.make(Op::reduce_max, x));
  return n.sub(shifted, n.make(Op::log, n.make(Op::reduce_sum, n.make(Op::exp, shifted))));
}

TermId with_weight(NodeTerms& n, TermId x) {
  if (n.has("weight")) x = n.mul(x, n.operand("weight", n.type_of(x)));
  if (n.has("bias")) x = n.add(x, n.operand("bias", n.type_of(x)));
  return x;
}
TermId layer_norm(NodeTerms& n) {
  const Type type = float_result(n);
  const TermId x = n.operand("input", type);
  const TermId centered = n.sub(x, mean_of(n, x));
  const TermId variance = mean_of(n, n.mul(centered, centered));
  const TermId scale = n.make(Op::rsqrt, n.add(variance, n.number(n.real("eps", 1e-5), type)));
  return with_weight(n, n.mul(centered, scale));
}
TermId rms_norm(NodeTerms& n) {
  const Type type = float_result(n);
  const TermId x = n.operand("input", type);
  const bool is_double = n.result_dtype() == DType::kF64;
  const bool is_half = n.result_dtype() == DType::kF16 || n.result_dtype() == DType::kBF16;
  if (is_half && !n.has("eps")) throw NotFused{};
  const double epsilon = n.real(
      "eps", is_double ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon());
  const TermId mean_square = mean_of(n, n.mul(x, x));
  const TermId scale = n.make(Op::rsqrt, n.add(mean_square, n.number(epsilon, type)));
  return with_weight(n, n.mul(x, scale));
}

// With the statistics that were learnt.
TermId batch_norm(NodeTerms& n) {
  if (n.flag("training", true) || !n.has("running_mean") || !n.has("running_var")) throw NotFused{};
  const Type type = float_result(n);
  const TermId variance = n.add(n.operand("running_var", type), n.number(n.real("eps", 1e-5), type));
  TermId scale = n.make(Op::rsqrt, variance);
  if (n.has("weight")) scale = n.mul(scale, n.operand("weight", type));
  const TermId moved = n.mul(n.operand("running_mean", type), scale);
  const TermId shift = n.has("bias") ? n.sub(n.operand("bias", type), moved) : n.make(Op::neg, moved);
  return n.add(n.mul(n.operand("input", type), scale), shift);
}

}  // namespace

const Rule* find_rule(std::string_view name) {
  static const auto* rules = new std::unordered_map<std::string_view, Rule>{
#define STATOR_FUSED(name, kind, function) {name, Rule{function, RuleKind::kind}},
#include "backends/fused/plan/rules.def"
#define STATOR_FUSED(name, kind, function) {name, Rule{gradients::function, RuleKind::kind}},
#include "backends/fused/plan/gradient_rules.def"
  };
  const auto found = rules->find(name);
  return found == rules->end() ? nullptr : &found->second;
}

std::vector<size_t> reduced_dimensions(const ir::Graph& graph, const ir::Node& node) {
  Kernel unused;
  const NodeTerms n(graph, node, unused, nullptr);
  const bool is_norm = n.has("normalized_shape");
  const ir::Operand& input = graph.operands(node)[0];
  if (input.kind != ir::OperandKind::kValue) throw NotFused{};
  const size_t rank = graph.value(input.value).rank;
  std::vector<size_t> result;
  if (is_norm) {
    const size_t count = n.ints("normalized_shape").size();
    if (count > rank) throw NotFused{};
    for (size_t d = rank - count; d < rank; ++d) result.push_back(d);
    return result;
  }
  for (int64_t dim : n.ints("dim")) {
    const int64_t wrapped = dim < 0 ? dim + static_cast<int64_t>(rank) : dim;
    if (wrapped < 0 || wrapped >= static_cast<int64_t>(rank)) throw NotFused{};
    result.push_back(static_cast<size_t>(wrapped));
  }
  if (result.empty()) {
    for (size_t d = 0; d < rank; ++d) result.push_back(d);
  }
  return result;
}

}  // namespace stator::fused
