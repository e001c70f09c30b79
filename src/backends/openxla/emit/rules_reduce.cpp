// src/backends/openxla/emit/rules_reduce.cpp: sums, extremes, variances, cumulative operators, softmax.
#include <cmath>

#include "backends/openxla/emit/rules.h"

namespace stator::openxla::rule {

static size_t at(int64_t i) { return static_cast<size_t>(i); }

static Tensor kept(const Call& c, const Tensor& reduced, size_t output = 0) {
  return c.b.reshape(reduced, c.result_dims(output));
}

static Dims with_ones(const Tensor& x, const Dims& dims) {
  Dims result = x.dims;
  for (int64_t dim : dims) result[at(dim)] = 1;
  return result;
}

static int64_t elements(const Tensor& x, const Dims& dims) {
  int64_t count = 1;
  for (int64_t dim : dims) count *= x.dims[at(dim)];
  return count;
}

static Tensor sum_over(Builder& b, const Tensor& x, const Dims& dims) {
  return b.reduce(x, b.full(x.dtype, {}, 0), dims, "add");
}

// As a tensor that broadcasts against x.
static Tensor sum_kept(Builder& b, const Tensor& x, const Dims& dims) {
  return b.reshape(sum_over(b, x, dims), with_ones(x, dims));
}

static Tensor max_kept(Builder& b, const Tensor& x, const Dims& dims) {
  return b.reshape(b.reduce(x, b.lowest(x.dtype, {}), dims, "maximum"), with_ones(x, dims));
}

static const char* dims_name(const Call& c) { return c.has("dims") ? "dims" : "dim"; }

static Tensor wide(const Call& c) { return c.operand("self", accumulation_type(c.result_dtype())); }

Outputs sum(const Call& c) {
  const Tensor x = wide(c);
  return {kept(c, sum_over(c.b, x, c.dims("dim", x.rank())))};
}

Outputs prod(const Call& c) {
  const Tensor x = wide(c);
  return {kept(c, c.b.reduce(x, c.b.full(x.dtype, {}, 1), c.dims("dim", x.rank()), "multiply"))};
}

Outputs mean(const Call& c) {
  const Tensor x = wide(c);
  const Dims dims = c.dims("dim", x.rank());
  const Tensor total = sum_over(c.b, x, dims);
  return {kept(c, c.b.div(total, c.b.like(total, static_cast<double>(elements(x, dims)))))};
}

// Eager kernels raise where there is nothing to choose from.
static void require_elements(const Tensor& x, const Dims& dims) {
  if (elements(x, dims) == 0) throw Unsupported{"an extreme of no elements"};
}

static Outputs extreme(const Call& c, bool largest) {
  const Tensor x = c.tensor("self");
  if (is_complex(x.dtype)) throw Unsupported{"complex numbers"};
  require_elements(x, c.dims("dim", x.rank()));
  const Tensor init = largest ? c.b.lowest(x.dtype, {}) : c.b.highest(x.dtype, {});
  return {kept(c, c.b.reduce(x, init, c.dims("dim", x.rank()), largest ? "maximum" : "minimum"))};
}
Outputs amax(const Call& c) { return extreme(c, true); }
Outputs amin(const Call& c) { return extreme(c, false); }

Outputs any(const Call& c) {
  const Tensor x = c.b.convert(c.tensor("self"), DType::kBool);
  return {kept(c, c.b.reduce(x, c.b.full(DType::kBool, {}, 0), c.dims(dims_name(c), x.rank()), "or"))};
}
Outputs all(const Call& c) {
  const Tensor x = c.b.convert(c.tensor("self"), DType::kBool);
  return {kept(c, c.b.reduce(x, c.b.full(DType::kBool, {}, 1), c.dims(dims_name(c), x.rank()), "and"))};
}

// -- Variance

struct Moments {
  Tensor variance, mean;  // with dimensions of size 1
};

static Moments moments(const Call& c, const Tensor& x, const Dims& dims, double correction) {
  Builder& b = c.b;
  const double count = static_cast<double>(elements(x, dims));
  const Tensor total = sum_kept(b, x, dims), mean = b.div(total, b.like(total, count));
  const Tensor apart = b.sub(x, b.expand(mean, x.dims));
  const Tensor squares = sum_kept(b, b.mul(apart, apart), dims);
  return {b.div(squares, b.like(squares, std::max(0.0, count - correction))), mean};
}

static Moments moments(const Call& c) {
  const Tensor x = wide(c);
  if (is_complex(x.dtype)) throw Unsupported{"complex numbers"};
  const double correction = c.has("unbiased") ? (c.flag("unbiased") ? 1 : 0) : c.real("correction", 1);
  return moments(c, x, c.dims("dim", x.rank()), correction);
}

Outputs var(const Call& c) { return {kept(c, moments(c).variance)}; }
Outputs var_mean(const Call& c) {
  const Moments m = moments(c);
  return {kept(c, m.variance), kept(c, m.mean, 1)};
}

Outputs vector_norm(const Call& c) {
  Builder& b = c.b;
  const Tensor given = c.tensor("self");
  if (is_complex(given.dtype)) throw Unsupported{"complex numbers"};
  const Tensor x = b.unary("abs", b.convert(given, accumulation_type(c.result_dtype())));
  const Dims dims = c.dims("dim", x.rank());
  const double order = c.real("ord", 2);
  if (std::isinf(order)) {
    const bool largest = order > 0;
    if (elements(x, dims) == 0) throw Unsupported{"the norm of no elements"};
    return {kept(
        c, b.reduce(x, b.full(x.dtype, {}, largest ? 0 : INFINITY), dims, largest ? "maximum" : "minimum"))};
  }
  if (order == 0) return {kept(c, sum_over(b, b.convert(b.convert(x, DType::kBool), x.dtype), dims))};
  if (order == 1) return {kept(c, sum_over(b, x, dims))};
  if (order == 2) return {kept(c, b.unary("sqrt", sum_over(b, b.mul(x, x), dims)))};
  const Tensor total = sum_over(b, b.binary("power", x, b.like(x, order)), dims);
  return {kept(c, b.binary("power", total, b.like(total, 1 / order)))};
}

// -- Extremes with their places: NaN is the largest and the smallest; among equals the first one counts.

static Tensor wins(Builder& b, bool largest, const Tensor& x, const Tensor& i, const Tensor& y,
                   const Tensor& j) {
  const Tensor better = b.compare(largest ? Compare::kGt : Compare::kLt, x, y);
  const Tensor first = b.compare(Compare::kLt, i, j);
  if (!is_float(x.dtype)) return b.either(better, b.both(b.compare(Compare::kEq, x, y), first));
  const Tensor nan_x = b.is_nan(x), nan_y = b.is_nan(y);
  const Tensor equal = b.either(b.compare(Compare::kEq, x, y), b.both(nan_x, nan_y));
  return b.either(b.both(equal, first),
                  b.either(b.both(better, b.invert(nan_y)), b.both(nan_x, b.invert(nan_y))));
}

static std::vector<Tensor> extreme_and_place(Builder& b, bool largest, const Tensor& given, int64_t dim) {
  const Tensor x = given.dtype == DType::kBool ? b.convert(given, DType::kU8) : given;
  if (is_complex(x.dtype)) throw Unsupported{"complex numbers"};
  require_elements(x, {dim});
  const Tensor places = b.iota(DType::kI64, x.dims, dim);
  const Tensor xs[] = {x, places};
  const Tensor inits[] = {largest ? b.lowest(x.dtype, {}) : b.highest(x.dtype, {}),
                          b.full(DType::kI64, {}, INT64_MAX)};
  return b.reduce(xs, inits, {dim}, [&](std::span<const Tensor> v) {
    const Tensor left = wins(b, largest, v[0], v[1], v[2], v[3]);
    return std::vector{b.select(left, v[0], v[2]), b.select(left, v[1], v[3])};
  });
}

template <bool largest>
Outputs extreme_index(const Call& c) {
  Tensor x = c.tensor("self");
  if (!c.has("dim") || x.rank() == 0) x = c.b.reshape(x, {x.count()});
  const int64_t dim = c.has("dim") && x.rank() > 1 ? c.dim("dim", x.rank()) : 0;
  return {kept(c, extreme_and_place(c.b, largest, x, dim)[1])};
}
template Outputs extreme_index<true>(const Call&);
template Outputs extreme_index<false>(const Call&);

template <bool largest>
Outputs extreme_with_index(const Call& c) {
  Tensor x = c.tensor("self");
  if (x.rank() == 0) x = c.b.reshape(x, {1});
  const std::vector<Tensor> found = extreme_and_place(c.b, largest, x, c.dim("dim", x.rank()));
  return {kept(c, found[0]), kept(c, found[1], 1)};
}
template Outputs extreme_with_index<true>(const Call&);
template Outputs extreme_with_index<false>(const Call&);

// -- Cumulative: log2(n) steps, each joining every element with the one `reach` before it.

static Tensor shifted(Builder& b, const Tensor& x, int64_t dim, int64_t reach, const Tensor& fill) {
  Dims low = repeated(x.rank(), 0), high = low;
  low[at(dim)] = reach;
  high[at(dim)] = -reach;
  return b.pad(x, fill, low, high, repeated(x.rank(), 0));
}

Outputs apply_cumulative(const Call& c, std::string_view op, double identity) {
  Tensor x = wide(c);
  if (x.rank() == 0 || x.count() == 0) return {x};
  const int64_t dim = c.dim("dim", x.rank());
  for (int64_t reach = 1; reach < x.dims[at(dim)]; reach *= 2)
    x = c.b.binary(op, x, shifted(c.b, x, dim, reach, c.b.full(x.dtype, {}, identity)));
  return {x};
}
Outputs cumsum(const Call& c) { return apply_cumulative(c, "add", 0); }
Outputs cumprod(const Call& c) { return apply_cumulative(c, "multiply", 1); }

Outputs logcumsumexp(const Call& c) {
  Builder& b = c.b;
  Tensor x = wide(c);
  if (is_complex(x.dtype)) throw Unsupported{"complex numbers"};
  if (x.rank() == 0 || x.count() == 0) return {x};
  const int64_t dim = c.dim("dim", x.rank());
  for (int64_t reach = 1; reach < x.dims[at(dim)]; reach *= 2) {
    const Tensor before = shifted(b, x, dim, reach, b.lowest(x.dtype, {}));
    const Tensor high = b.binary("maximum", x, before), low = b.binary("minimum", x, before);
    const Tensor apart = b.select(b.compare(Compare::kEq, high, low), b.like(x, 0), b.sub(low, high));
    x = b.add(high, b.unary("log_plus_one", b.unary("exponential", apart)));
  }
  return {x};
}

template <bool largest>
Outputs cumulative_extreme(const Call& c) {
  Builder& b = c.b;
  const Tensor given = c.tensor("self");
  Tensor x = given.dtype == DType::kBool ? b.convert(given, DType::kU8) : given;
  if (x.rank() == 0 || x.count() == 0) return {given, b.full(DType::kI64, x.dims, 0)};
  const int64_t dim = c.dim("dim", x.rank());
  Tensor places = b.iota(DType::kI64, x.dims, dim);
  const Tensor fill = largest ? b.lowest(x.dtype, {}) : b.highest(x.dtype, {});
  for (int64_t reach = 1; reach < x.dims[at(dim)]; reach *= 2) {
    // Among equals the last one counts here.
    const Tensor value = shifted(b, x, dim, reach, fill),
                 place = shifted(b, places, dim, reach, b.full(DType::kI64, {}, -1));
    const Tensor before = b.both(wins(b, largest, value, b.like(place, 1), x, b.like(place, 0)),
                                 b.compare(Compare::kGe, place, b.like(place, 0)));
    x = b.select(before, value, x);
    places = b.select(before, place, places);
  }
  return {x, places};
}
template Outputs cumulative_extreme<true>(const Call&);
template Outputs cumulative_extreme<false>(const Call&);

// -- Softmax

struct Shares {
  Tensor apart, exponentials, total;  // x - max, its exponential, the sum of these
};

static Dims softmax_dims(const Call& c, const Tensor& x) {
  return x.rank() == 0 ? Dims{} : Dims{c.dim("dim", x.rank())};
}

static Shares shares(const Call& c, const Tensor& x) {
  Builder& b = c.b;
  const Dims dims = softmax_dims(c, x);
  const Tensor apart = b.sub(x, b.expand(max_kept(b, x, dims), x.dims));
  const Tensor exponentials = b.unary("exponential", apart);
  return {apart, exponentials, sum_kept(b, exponentials, dims)};
}

Outputs softmax(const Call& c) {
  const Tensor x = wide(c);
  const Shares s = shares(c, x);
  return {c.b.binary("divide", s.exponentials, c.b.expand(s.total, x.dims))};
}

Outputs log_softmax(const Call& c) {
  const Tensor x = wide(c);
  const Shares s = shares(c, x);
  return {c.b.sub(s.apart, c.b.expand(c.b.unary("log", s.total), x.dims))};
}

Outputs softmax_backward(const Call& c) {
  Builder& b = c.b;
  const DType type = accumulation_type(c.result_dtype());
  const Tensor grad = c.operand("grad_output", type), output = c.operand("output", type);
  const Tensor product = b.mul(grad, output);
  const Tensor total = sum_kept(b, product, softmax_dims(c, grad));
  return {b.sub(product, b.mul(output, b.expand(total, grad.dims)))};
}

Outputs log_softmax_backward(const Call& c) {
  Builder& b = c.b;
  const DType type = accumulation_type(c.result_dtype());
  const Tensor grad = c.operand("grad_output", type), output = c.operand("output", type);
  const Tensor total = sum_kept(b, grad, softmax_dims(c, grad));
  return {b.sub(grad, b.mul(b.unary("exponential", output), b.expand(total, grad.dims)))};
}

// -- Layer norm

Outputs layer_norm(const Call& c) {
  Builder& b = c.b;
  const DType type = accumulation_type(c.result_dtype());
  const Tensor x = c.operand("input", type);
  const int64_t inner = static_cast<int64_t>(c.ints("normalized_shape").size());
  const Moments m = moments(c, x, range(x.rank() - inner, x.rank()), 0);
  const Tensor scale = b.unary("rsqrt", b.add(m.variance, b.like(m.variance, c.real("eps"))));
  Tensor y = b.mul(b.sub(x, b.expand(m.mean, x.dims)), b.expand(scale, x.dims));
  if (c.has("weight")) y = b.mul(y, c.operand("weight", type, x.dims));
  if (c.has("bias")) y = b.add(y, c.operand("bias", type, x.dims));
  return {y, m.mean, scale};
}

}  // namespace stator::openxla::rule
