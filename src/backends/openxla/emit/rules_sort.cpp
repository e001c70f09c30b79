// src/backends/openxla/emit/rules_sort.cpp: sorting, the largest k, the k-th.
#include "backends/openxla/emit/rules.h"

namespace stator::openxla::rule {

// -- Sorting: NaN is the largest

static std::vector<Tensor> sorted(Builder& b, const Tensor& given, int64_t dim, bool descending) {
  const Tensor x = given.dtype == DType::kBool ? b.convert(given, DType::kU8) : given;
  if (is_complex(x.dtype)) throw Unsupported{"complex numbers"};
  const Tensor xs[] = {x, b.iota(DType::kI64, x.dims, dim)};
  return b.sort(xs, dim, [&](std::span<const Tensor> v) {
    const Tensor& first = descending ? v[1] : v[0];
    const Tensor& second = descending ? v[0] : v[1];
    const Tensor less = b.compare(Compare::kLt, first, second);
    if (!is_float(x.dtype)) return std::vector{less};
    return std::vector{b.either(less, b.both(b.is_nan(second), b.invert(b.is_nan(first))))};
  });
}

Outputs sort(const Call& c) {
  const Tensor x = c.tensor("self");
  if (x.rank() == 0 || x.count() == 0) return {x, c.b.full(DType::kI64, x.dims, 0)};
  return sorted(c.b, x, c.wrapped(c.integer("dim", -1), x.rank()), c.flag("descending"));
}

Outputs topk(const Call& c) {
  const Tensor x = c.tensor("self");
  if (x.rank() == 0) return {x, c.b.full(DType::kI64, {}, 0)};
  const int64_t dim = c.wrapped(c.integer("dim", -1), x.rank());
  Outputs result = sorted(c.b, x, dim, c.flag("largest", true));
  for (Tensor& part : result) part = c.b.slice_dim(part, dim, 0, c.integer("k"));
  return result;
}

Outputs kthvalue(const Call& c) {
  Tensor x = c.tensor("self");
  if (x.rank() == 0) x = c.b.reshape(x, {1});
  const int64_t dim = c.wrapped(c.integer("dim", -1), x.rank()), k = c.integer("k");
  Outputs result = sorted(c.b, x, dim, false);
  for (size_t i = 0; i < 2; ++i)
    result[i] = c.b.reshape(c.b.slice_dim(result[i], dim, k - 1, k), c.result_dims(i));
  return result;
}

}  // namespace stator::openxla::rule
