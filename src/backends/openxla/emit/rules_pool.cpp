// src/backends/openxla/emit/rules_pool.cpp: pooling, by one strided slice for each place of the window.
#include <algorithm>

#include "backends/openxla/emit/rules.h"

namespace stator::openxla::rule {

static size_t at(int64_t i) { return static_cast<size_t>(i); }

// Windows beyond this make programs too large.
static constexpr int64_t kMaxPlaces = 1024;

struct Pooling {
  int64_t spatial, outer;  // dimensions that are pooled, dimensions before them
  Dims size, stride, padding, dilation;
  Dims result;  // of the pooled dimensions
};

static Dims per_dimension(const Dims& given, int64_t count, const Dims& otherwise) {
  if (given.empty()) return otherwise;
  return static_cast<int64_t>(given.size()) == count ? given : repeated(count, given[0]);
}

static Pooling pooling_of(const Call& c, const Tensor& x, int64_t spatial, const Dims& result) {
  Pooling p;
  p.spatial = spatial;
  p.outer = x.rank() - spatial;
  p.size = per_dimension(c.ints("kernel_size"), spatial, {});
  p.stride = per_dimension(c.has("stride") ? c.ints("stride") : Dims(), spatial, p.size);
  p.padding = per_dimension(c.has("padding") ? c.ints("padding") : Dims(), spatial, repeated(spatial, 0));
  p.dilation = per_dimension(c.has("dilation") ? c.ints("dilation") : Dims(), spatial, repeated(spatial, 1));
  p.result.assign(result.end() - spatial, result.end());
  if (product(p.size) > kMaxPlaces) throw Unsupported{"a window of more than 1024 elements"};
  return p;
}

// x with room for every window, also for those that ceil_mode lets hang over.
static Tensor padded(Builder& b, const Tensor& x, const Pooling& p, const Tensor& value) {
  Dims low = repeated(x.rank(), 0), high = low;
  for (int64_t i = 0; i < p.spatial; ++i) {
    const int64_t need =
        (p.result[at(i)] - 1) * p.stride[at(i)] + (p.size[at(i)] - 1) * p.dilation[at(i)] + 1;
    low[at(p.outer + i)] = p.padding[at(i)];
    high[at(p.outer + i)] = std::max<int64_t>(0, need - x.dims[at(p.outer + i)] - p.padding[at(i)]);
  }
  return b.pad(x, value, low, high, repeated(x.rank(), 0));
}

// Calls visit(elements, place) for each place of the window, `elements` of the result's shape.
template <class Visit>
static void for_each_place(Builder& b, const Tensor& room, const Pooling& p, Visit visit) {
  const int64_t places = product(p.size);
  for (int64_t number = 0; number < places; ++number) {
    Dims place(at(p.spatial));
    for (int64_t i = p.spatial, rest = number; i-- > 0; rest /= p.size[at(i)])
      place[at(i)] = rest % p.size[at(i)];
    Dims start = repeated(room.rank(), 0), limit = room.dims, step = repeated(room.rank(), 1);
    for (int64_t i = 0; i < p.spatial; ++i) {
      const auto dim = at(p.outer + i);
      start[dim] = place[at(i)] * p.dilation[at(i)];
      step[dim] = p.stride[at(i)];
      limit[dim] = start[dim] + (p.result[at(i)] - 1) * step[dim] + 1;
    }
    visit(b.slice(room, start, limit, step), place);
  }
}

static Outputs max_pool(const Call& c, int64_t spatial) {
  Builder& b = c.b;
  const Tensor x = c.tensor("self");
  const Pooling p = pooling_of(c, x, spatial, c.result_dims());
  const Tensor room = padded(b, x, p, b.lowest(x.dtype, {}));
  std::optional<Tensor> best, where;
  const Dims dims = c.result_dims();
  for_each_place(b, room, p, [&](const Tensor& elements, const Dims& place) {
    // The place in the input, its pooled dimensions joined; outside of it nothing is ever larger.
    Tensor flat = b.full(DType::kI64, dims, 0), inside = b.full(DType::kBool, dims, 1);
    for (int64_t i = 0; i < spatial; ++i) {
      const int64_t size = x.dims[at(p.outer + i)];
      const Tensor step = b.full(DType::kI64, dims, p.stride[at(i)]);
      const Tensor from = b.full(DType::kI64, dims, place[at(i)] * p.dilation[at(i)] - p.padding[at(i)]);
      const Tensor position = b.add(b.mul(b.iota(DType::kI64, dims, p.outer + i), step), from);
      inside = b.both(inside, b.both(b.compare(Compare::kGe, position, b.like(position, 0)),
                                     b.compare(Compare::kLt, position, b.full(DType::kI64, dims, size))));
      flat = b.add(b.mul(flat, b.full(DType::kI64, dims, size)), position);
    }
    if (!best) {
      best = elements;
      where = b.select(inside, flat, b.full(DType::kI64, dims, -1));
      return;
    }
    Tensor better = b.either(b.compare(Compare::kGt, elements, *best),
                             b.compare(Compare::kLt, *where, b.full(DType::kI64, dims, 0)));
    if (is_float(x.dtype)) better = b.either(better, b.is_nan(elements));
    better = b.both(better, inside);
    best = b.select(better, elements, *best);
    where = b.select(better, flat, *where);
  });
  return {*best, *where};
}
Outputs max_pool2d(const Call& c) { return max_pool(c, 2); }
Outputs max_pool3d(const Call& c) { return max_pool(c, 3); }

// Each gradient goes to the element that was the largest.
static Outputs max_pool_backward(const Call& c, int64_t spatial) {
  Builder& b = c.b;
  const DType type = accumulation_type(c.result_dtype());
  const Dims dims = c.result_dims();
  const int64_t outer = static_cast<int64_t>(dims.size()) - spatial;
  const int64_t rows = product({dims.data(), at(outer)}), inner = product({dims.data() + outer, at(spatial)});
  const Tensor grad = c.operand("grad_output", type);
  const Dims flat = {rows, grad.count() / std::max<int64_t>(rows, 1)};
  const Tensor place = b.reshape(b.convert(c.tensor("indices"), DType::kI64), flat);
  const Dims column = {flat[0], flat[1], 1};
  const Tensor indices[] = {b.reshape(b.iota(DType::kI64, flat, 0), column), b.reshape(place, column)};
  const Tensor sums = b.scatter(
      b.full(type, {rows, inner}, 0), b.concat(indices, 2), b.reshape(grad, flat),
      {.update_window_dims = {}, .inserted = {0, 1}, .to_operand_dims = {0, 1}, .index_vector_dim = 2},
      [&](std::span<const Tensor> v) { return std::vector{b.add(v[0], v[1])}; });
  return {b.reshape(sums, dims)};
}
Outputs max_pool2d_backward(const Call& c) { return max_pool_backward(c, 2); }
Outputs max_pool3d_backward(const Call& c) { return max_pool_backward(c, 3); }

// How many elements each window has: those of the padding count if asked for, those beyond it never do.
static Tensor divisor(const Call& c, const Pooling& p, DType type, const Dims& input, const Dims& dims) {
  Builder& b = c.b;
  if (c.has("divisor_override")) return b.full(type, dims, c.integer("divisor_override"));
  const bool with_padding = c.flag("count_include_pad", true);
  Tensor count = b.full(type, dims, 1);
  for (int64_t i = 0; i < p.spatial; ++i) {
    const int64_t pad = p.padding[at(i)], size = input[at(p.outer + i)];
    const Tensor step = b.full(DType::kI64, dims, p.stride[at(i)]);
    const Tensor start =
        b.sub(b.mul(b.iota(DType::kI64, dims, p.outer + i), step), b.full(DType::kI64, dims, pad));
    Tensor end = b.add(start, b.full(DType::kI64, dims, p.size[at(i)]));
    end = b.binary("minimum", end, b.full(DType::kI64, dims, with_padding ? size + pad : size));
    const Tensor begin = with_padding ? start : b.binary("maximum", start, b.like(start, 0));
    count = b.mul(count, b.convert(b.sub(end, begin), type));
  }
  return count;
}

static Outputs avg_pool(const Call& c, int64_t spatial) {
  Builder& b = c.b;
  const DType type = accumulation_type(c.result_dtype());
  const Tensor x = c.operand("self", type);
  const Pooling p = pooling_of(c, x, spatial, c.result_dims());
  const Tensor room = padded(b, x, p, b.full(type, {}, 0));
  std::optional<Tensor> sum;
  for_each_place(b, room, p,
                 [&](const Tensor& elements, const Dims&) { sum = sum ? b.add(*sum, elements) : elements; });
  return {b.div(*sum, divisor(c, p, type, x.dims, c.result_dims()))};
}
Outputs avg_pool2d(const Call& c) { return avg_pool(c, 2); }
Outputs avg_pool3d(const Call& c) { return avg_pool(c, 3); }
Outputs avg_pool1d(const Call& c) { return avg_pool(c, 1); }

// The sum, for each element, of the shares of the windows that it was in.
static Outputs avg_pool_backward(const Call& c, int64_t spatial) {
  Builder& b = c.b;
  const DType type = accumulation_type(c.result_dtype());
  const Tensor grad = c.operand("grad_output", type);
  const Dims dims = c.result_dims();
  const Tensor x{-1, type, dims};
  const Pooling p = pooling_of(c, x, spatial, grad.dims);
  const Tensor share = b.div(grad, divisor(c, p, type, dims, grad.dims));
  std::optional<Tensor> sum;
  const int64_t places = product(p.size);
  for (int64_t number = 0; number < places; ++number) {
    Dims low = repeated(x.rank(), 0), high = low, interior = low;
    for (int64_t i = spatial, rest = number; i-- > 0; rest /= p.size[at(i)]) {
      const auto dim = at(p.outer + i);
      low[dim] = rest % p.size[at(i)] - p.padding[at(i)];
      interior[dim] = p.stride[at(i)] - 1;
      high[dim] = dims[dim] - low[dim] - ((p.result[at(i)] - 1) * p.stride[at(i)] + 1);
    }
    const Tensor part = b.pad(share, b.full(type, {}, 0), low, high, interior);
    sum = sum ? b.add(*sum, part) : part;
  }
  return {*sum};
}
Outputs avg_pool2d_backward(const Call& c) { return avg_pool_backward(c, 2); }
Outputs avg_pool3d_backward(const Call& c) { return avg_pool_backward(c, 3); }

}  // namespace stator::openxla::rule
