// src/backends/openxla/emit/rules_composite.cpp: operators that captured graphs have whole: layers and
// conversions.
//
// AOT autograd decomposes these; a graph that goes to the emitter as it was captured has them.
#include <algorithm>
#include <cmath>

#include "backends/openxla/emit/rules.h"

namespace stator::openxla::rule {

static size_t at(int64_t i) { return static_cast<size_t>(i); }

// -- Products

Outputs linear(const Call& c) {
  Builder& b = c.b;
  const DType type = accumulation_type(c.result_dtype());
  const Tensor x = c.operand("input", type), weight = c.operand("weight", type);
  if (weight.rank() != 2) throw Unsupported{"a weight of other than two dimensions"};
  const Tensor y = b.dot(x, weight, {}, {}, {x.rank() - 1}, {1});
  return {c.has("bias") ? b.add(y, c.operand("bias", type, y.dims)) : y};
}

Outputs matmul(const Call& c) {
  Builder& b = c.b;
  const DType type = accumulation_type(c.result_dtype());
  Tensor x = c.operand("self", type), y = c.operand("other", type);
  if (x.rank() == 1) x = b.reshape(x, {1, x.dims[0]});
  if (y.rank() == 1) y = b.reshape(y, {y.dims[0], 1});
  if (y.rank() == 2) return {b.reshape(b.dot(x, y, {}, {}, {x.rank() - 1}, {0}), c.result_dims())};
  // The dimensions before the last two are broadcast against each other.
  const int64_t outer = std::max(x.rank(), y.rank()) - 2;
  Dims batch = repeated(outer, 1);
  for (const Tensor* operand : {&x, &y}) {
    for (int64_t i = 0; i < operand->rank() - 2; ++i) {
      const int64_t size = operand->dims[at(i)];
      if (size != 1) batch[at(i + outer - (operand->rank() - 2))] = size;
    }
  }
  const auto batched = [&](const Tensor& operand) {
    Dims dims = batch;
    dims.insert(dims.end(), operand.dims.end() - 2, operand.dims.end());
    return b.expand(operand, dims);
  };
  const Dims dims = range(0, outer);
  return {b.reshape(b.dot(batched(x), batched(y), dims, dims, {outer + 1}, {outer}), c.result_dims())};
}

// -- Normalisations

// (x - mean) / sqrt(variance + eps) over some dimensions.
static Tensor normalised(Builder& b, const Tensor& x, const Dims& dims, double eps) {
  Dims ones = x.dims;
  double count = 1;
  for (int64_t dim : dims) {
    count *= static_cast<double>(x.dims[at(dim)]);
    ones[at(dim)] = 1;
  }
  const auto mean = [&](const Tensor& values) {
    const Tensor total = b.reshape(b.reduce(values, b.full(x.dtype, {}, 0), dims, "add"), ones);
    return b.div(total, b.like(total, count));
  };
  const Tensor apart = b.sub(x, b.expand(mean(x), x.dims)), variance = mean(b.mul(apart, apart));
  return b.mul(apart, b.expand(b.unary("rsqrt", b.add(variance, b.like(variance, eps))), x.dims));
}

// One number for each channel, dimension 1.
static Tensor by_channel(const Call& c, std::string_view name, const Tensor& x) {
  return c.b.broadcast(c.operand(name, x.dtype), x.dims, {1});
}

static Tensor scaled(const Call& c, Tensor x) {
  if (c.has("weight")) x = c.b.mul(x, by_channel(c, "weight", x));
  if (c.has("bias")) x = c.b.add(x, by_channel(c, "bias", x));
  return x;
}

Outputs whole_layer_norm(const Call& c) { return layer_norm(c); }

Outputs group_norm(const Call& c) {
  Builder& b = c.b;
  const Tensor x = c.operand("input", accumulation_type(c.result_dtype()));
  const int64_t groups = c.integer("num_groups");
  if (x.count() == 0) throw Unsupported{"no elements"};
  const Tensor split = b.reshape(x, {x.dims[0], groups, x.count() / (x.dims[0] * groups)});
  return {scaled(c, b.reshape(normalised(b, split, {2}, c.real("eps", 1e-5)), x.dims))};
}

Outputs batch_norm(const Call& c) {
  Builder& b = c.b;
  if (c.flag("training")) throw Unsupported{"statistics of a batch"};
  const Tensor x = c.operand("input", accumulation_type(c.result_dtype()));
  const Tensor variance = by_channel(c, "running_var", x);
  const Tensor scale = b.unary("rsqrt", b.add(variance, b.like(variance, c.real("eps"))));
  return {scaled(c, b.mul(b.sub(x, by_channel(c, "running_mean", x)), scale))};
}

Outputs dropout(const Call& c) {
  const Tensor x = c.tensor("input");
  if (!c.flag("train") || c.real("p") == 0) return {x};
  if (c.real("p") != 1) throw Unsupported{"random numbers"};
  return {c.b.mul(x, c.b.like(x, 0))};
}

// -- Attention

Outputs whole_attention(const Call& c) {
  if (c.flag("enable_gqa") || c.tensor("query").rank() == 4) return {attention(c)[0]};
  throw Unsupported{"attention of other than four dimensions"};
}

// -- Convolutions and pooling

Outputs plain_convolution(const Call& c) {
  if (!c.has("padding") || c.string("padding", "").empty()) {
    if (static_cast<int64_t>(c.result_dims().size()) != c.tensor("input").rank() ||
        c.tensor("input").rank() != c.tensor("weight").rank())
      throw Unsupported{"a convolution without a batch"};
    return convolution(c);
  }
  throw Unsupported{"padding by name"};
}

Outputs named_padding_convolution(const Call& c) {
  const std::string_view padding = c.string("padding", "valid");
  if (padding != "valid") throw Unsupported{"padding by name"};
  return convolution(c);
}

Outputs whole_max_pool2d(const Call& c) { return {max_pool2d(c)[0]}; }

// Windows of one size; torch's own for sizes that do not divide differ from place to place.
static Outputs adaptive_avg_pool(const Call& c, int64_t spatial) {
  Builder& b = c.b;
  const Tensor x = c.operand("self", accumulation_type(c.result_dtype()));
  const Dims result = c.result_dims();
  Dims split, inner;
  double count = 1;
  for (int64_t i = 0; i < x.rank(); ++i) {
    if (i < x.rank() - spatial) {
      split.push_back(x.dims[at(i)]);
      continue;
    }
    if (result[at(i)] == 0 || x.dims[at(i)] % result[at(i)] != 0)
      throw Unsupported{"windows of unequal sizes"};
    split.push_back(result[at(i)]);
    inner.push_back(static_cast<int64_t>(split.size()));
    split.push_back(x.dims[at(i)] / result[at(i)]);
    count *= static_cast<double>(split.back());
  }
  const Tensor total = b.reduce(b.reshape(x, split), b.full(x.dtype, {}, 0), inner, "add");
  return {b.div(total, b.like(total, count))};
}

Outputs adaptive_avg_pool1d(const Call& c) { return adaptive_avg_pool(c, 1); }
Outputs adaptive_avg_pool2d(const Call& c) { return adaptive_avg_pool(c, 2); }

// -- Copies of elements

Outputs repeat_interleave(const Call& c) {
  Builder& b = c.b;
  Tensor x = c.tensor("self");
  if (!c.has("dim")) x = b.reshape(x, {x.count()});
  const int64_t dim = c.has("dim") ? c.dim("dim", x.rank()) : 0;
  Dims dims = x.dims, positions;
  dims.insert(dims.begin() + dim + 1, c.integer("repeats"));
  for (int64_t i = 0; i < x.rank(); ++i) positions.push_back(i <= dim ? i : i + 1);
  return {b.reshape(b.broadcast(x, dims, positions), c.result_dims())};
}

Outputs diff(const Call& c) {
  Builder& b = c.b;
  if (c.integer("n", 1) != 1) throw Unsupported{"differences of differences"};
  std::vector<Tensor> parts;
  for (const char* name : {"prepend", "self", "append"}) {
    if (c.has(name)) parts.push_back(b.convert(c.tensor(name), c.result_dtype()));
  }
  const int64_t dim = c.wrapped(c.integer("dim", -1), parts[0].rank());
  const Tensor x = b.concat(parts, dim);
  const int64_t size = x.dims[at(dim)];
  if (size < 2) return {b.full(x.dtype, c.result_dims(), 0)};
  const Tensor later = b.slice_dim(x, dim, 1, size), earlier = b.slice_dim(x, dim, 0, size - 1);
  return {x.dtype == DType::kBool ? b.binary("xor", later, earlier) : b.sub(later, earlier)};
}

// Windows of one dimension, as a new last one: their places are known numbers.
Outputs unfold(const Call& c) {
  Builder& b = c.b;
  const Tensor x = c.tensor("self");
  if (x.rank() == 0) throw Unsupported{"no dimensions"};
  const int64_t dim = c.dim("dimension", x.rank()), step = c.integer("step");
  const Dims dims = c.result_dims();
  if (product(dims) == 0) throw Unsupported{"no elements"};
  std::vector<Tensor> coordinates;
  for (int64_t i = 0; i < x.rank(); ++i) coordinates.push_back(b.iota(DType::kI64, dims, i));
  const Tensor start = b.mul(coordinates[at(dim)], b.full(DType::kI64, dims, step));
  coordinates[at(dim)] = b.add(start, b.iota(DType::kI64, dims, x.rank()));
  return {at_coordinates(b, x, coordinates)};
}

Outputs pad(const Call& c) {
  if (c.string("mode", "constant") != "constant") throw Unsupported{"padding with other elements"};
  return constant_pad(c);
}

}  // namespace stator::openxla::rule
