// src/backends/openxla/emit/rules_fft.cpp: Fourier transforms, one dimension at a time.
#include <cmath>
#include <utility>

#include "backends/openxla/emit/rules.h"

namespace stator::openxla::rule {

static size_t at(int64_t i) { return static_cast<size_t>(i); }

static Tensor along(Builder& b, const Tensor& x, int64_t dim, const char* kind, int64_t length) {
  Dims order = range(0, x.rank());
  std::swap(order[at(dim)], order.back());
  return b.transpose(b.fft(b.transpose(x, order), kind, length), order);
}

// 0: as it is, 1: divided by the root of the number of elements, 2: by the number.
static Tensor normalised(const Call& c, const Tensor& x, double count) {
  const int64_t by = c.integer("normalization");
  if (by == 0) return x;
  const double factor = by == 1 ? std::sqrt(count) : count;
  return c.b.div(x, c.b.like(x, factor));
}

static double elements(const Dims& sizes, const Dims& dims) {
  double count = 1;
  for (int64_t dim : dims) count *= static_cast<double>(sizes[at(dim)]);
  return count;
}

static Dims wrapped_dims(const Call& c, const Tensor& x) {
  Dims dims;
  for (int64_t dim : c.ints("dim")) dims.push_back(c.wrapped(dim, x.rank()));
  if (x.count() == 0) throw Unsupported{"no elements"};
  return dims;
}

Outputs fft_c2c(const Call& c) {
  Tensor x = c.tensor("self");
  const Dims dims = wrapped_dims(c, x);
  const double count = elements(x.dims, dims);
  for (int64_t dim : dims) {
    const int64_t size = x.dims[at(dim)];
    // XLA divides the inverse by the size; torch leaves that to the normalization.
    x = along(c.b, x, dim, c.flag("forward") ? "FFT" : "IFFT", size);
    if (!c.flag("forward")) x = c.b.mul(x, c.b.like(x, static_cast<double>(size)));
  }
  return {normalised(c, x, count)};
}

Outputs fft_r2c(const Call& c) {
  Tensor x = c.tensor("self");
  const Dims dims = wrapped_dims(c, x);
  const double count = elements(x.dims, dims);
  const bool onesided = c.flag("onesided");
  if (!onesided) x = c.b.convert(x, c.result_dtype());
  for (size_t i = dims.size(); i-- > 0;) {
    const bool real = onesided && i + 1 == dims.size();
    x = along(c.b, x, dims[i], real ? "RFFT" : "FFT", x.dims[at(dims[i])]);
  }
  return {normalised(c, x, count)};
}

Outputs fft_c2r(const Call& c) {
  Tensor x = c.tensor("self");
  const Dims dims = wrapped_dims(c, x);
  const int64_t last = c.integer("last_dim_size");
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t size = i + 1 == dims.size() ? last : x.dims[at(dims[i])];
    x = along(c.b, x, dims[i], i + 1 == dims.size() ? "IRFFT" : "IFFT", size);
    x = c.b.mul(x, c.b.like(x, static_cast<double>(size)));
  }
  return {normalised(c, x, elements(c.result_dims(), dims))};
}

}  // namespace stator::openxla::rule
