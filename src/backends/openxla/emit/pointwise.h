// src/backends/openxla/emit/pointwise.h: operands of pointwise rules, in the result's shape.
#pragma once

#include <utility>

#include "backends/openxla/emit/call.h"

namespace stator::openxla::rule {

inline Tensor self(const Call& c) { return c.operand("self", c.result_dtype(), c.result_dims()); }

// 16-bit floats are computed in 32 bits and rounded once, as torch's kernels do.
inline Tensor wide(const Call& c, const Tensor& x) { return c.b.convert(x, accumulation_type(x.dtype)); }
inline Tensor wide_self(const Call& c) { return wide(c, self(c)); }

// An operand as TensorIterator hands it to a kernel: in the result's type, which a number and a wider tensor
// are rounded to; 16-bit floats are then computed in 32 bits.
Tensor common(const Call& c, std::string_view name);

// The same, but for kernels of products: those of the CPU read a second operand of one element as what it was
// before, those of CUDA a number.
Tensor common_or_original(const Call& c, std::string_view name);

inline std::pair<Tensor, Tensor> common_operands(const Call& c) {
  return {common(c, "self"), common(c, "other")};
}

inline std::pair<Tensor, Tensor> operands(const Call& c, DType dtype) {
  return {c.operand("self", dtype, c.result_dims()), c.operand("other", dtype, c.result_dims())};
}

// Rounded down, with each step rounded to `steps`; rules_division.cpp.
Tensor floor_divide(Builder& b, const Tensor& x, const Tensor& y, DType steps);
inline Tensor floor_divide(Builder& b, const Tensor& x, const Tensor& y) {
  return floor_divide(b, x, y, x.dtype);
}

// Rounded to a narrower type, which XLA would forget.
inline Tensor rounded_to(Builder& b, DType type, const Tensor& x) {
  return x.dtype == type ? x : b.convert(b.barrier(b.convert(x, type)), x.dtype);
}

// Rounded to zero.
inline Tensor truncated(Builder& b, const Tensor& x) {
  return b.select(b.compare(Compare::kLt, x, b.like(x, 0)), b.unary("ceil", x), b.unary("floor", x));
}

}  // namespace stator::openxla::rule
