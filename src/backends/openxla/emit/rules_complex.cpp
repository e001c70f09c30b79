// src/backends/openxla/emit/rules_complex.cpp: complex numbers, their parts and angles.
#include <cmath>

#include "backends/openxla/emit/rules.h"

namespace stator::openxla::rule {

Outputs real_part(const Call& c) {
  const Tensor x = c.tensor("self");
  return {is_complex(x.dtype) ? c.b.unary("real", x, real_part_of(x.dtype)) : x};
}

Outputs imaginary_part(const Call& c) {
  const Tensor x = c.tensor("self");
  return {c.b.unary("imag", x, real_part_of(x.dtype))};
}

Outputs conj(const Call& c) {
  const Tensor x = c.tensor("self");
  if (!is_complex(x.dtype)) return {x};
  const DType part = real_part_of(x.dtype);
  return {c.b.complex(c.b.unary("real", x, part), c.b.unary("negate", c.b.unary("imag", x, part)))};
}

Outputs complex(const Call& c) {
  const DType part = real_part_of(c.result_dtype());
  return {c.b.complex(c.operand("real", part, c.result_dims()), c.operand("imag", part, c.result_dims()))};
}

Outputs polar(const Call& c) {
  Builder& b = c.b;
  const DType part = real_part_of(c.result_dtype());
  const Tensor length = c.operand("abs", part, c.result_dims()),
               angle = c.operand("angle", part, c.result_dims());
  return {b.complex(b.mul(length, b.unary("cosine", angle)), b.mul(length, b.unary("sine", angle)))};
}

Outputs view_as_real(const Call& c) {
  Builder& b = c.b;
  const Tensor x = c.tensor("self");
  Dims dims = x.dims;
  dims.push_back(1);
  const DType part = real_part_of(x.dtype);
  const Tensor parts[] = {b.reshape(b.unary("real", x, part), dims),
                          b.reshape(b.unary("imag", x, part), dims)};
  return {b.concat(parts, x.rank())};
}

Outputs view_as_complex(const Call& c) {
  Builder& b = c.b;
  const Tensor x = c.tensor("self");
  const Dims dims = c.result_dims();
  const int64_t last = x.rank() - 1;
  return {
      b.complex(b.reshape(b.slice_dim(x, last, 0, 1), dims), b.reshape(b.slice_dim(x, last, 1, 2), dims))};
}

Outputs angle(const Call& c) {
  Builder& b = c.b;
  const Tensor x = c.tensor("self");
  if (is_complex(x.dtype)) {
    const DType part = real_part_of(x.dtype);
    return {b.binary("atan2", b.unary("imag", x, part), b.unary("real", x, part))};
  }
  const Tensor y = b.convert(x, c.result_dtype()), zero = b.like(y, 0);
  const Tensor turned = b.select(b.compare(Compare::kLt, y, zero), b.like(y, M_PI), zero);
  return {b.select(b.is_nan(y), y, turned)};
}

}  // namespace stator::openxla::rule
