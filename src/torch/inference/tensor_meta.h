// src/torch/inference/tensor_meta.h: what shape inference knows of a tensor: sizes, strides, offset, dtype,
// device.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>
#include <c10/util/SmallVector.h>

#include <algorithm>
#include <vector>

#include "core/shape/size.h"

namespace stator {

using Size = shape::Size;
using Sizes = c10::SmallVector<Size, 5>;

struct TensorMeta {
  Sizes sizes;
  Sizes strides;
  Size offset = 0;
  c10::ScalarType dtype = c10::ScalarType::Float;
  c10::Device device = c10::Device(c10::kCPU);
  bool wrapped_number = false;  // a Python number that torch passes as a 0-dim tensor
  bool conj = false;
  bool neg = false;

  int64_t dim() const { return static_cast<int64_t>(sizes.size()); }
};

// The same expressions, without a guard: what differs in form may still be equal.
inline bool same_layout(const TensorMeta& a, const TensorMeta& b) {
  const auto same = [](const Size& x, const Size& y) { return x.dim() == y.dim(); };
  return a.sizes.size() == b.sizes.size() &&
         std::equal(a.sizes.begin(), a.sizes.end(), b.sizes.begin(), same) &&
         std::equal(a.strides.begin(), a.strides.end(), b.strides.begin(), same) && same(a.offset, b.offset);
}

// How one output tensor of an operator comes about.
struct OutputSpec {
  enum class Kind : uint8_t { fresh, same, view, undefined };
  Kind kind = Kind::fresh;
  // For `same` and `view`: which argument, and which element of it where it is a list.
  int16_t argument = -1;
  int32_t element = 0;
  bool requires_grad = false;
  bool leaf = false;  // requires grad without a history (`same` outputs keep theirs)
  TensorMeta meta;    // for `same`: the metadata after the operator ran
};

}  // namespace stator
