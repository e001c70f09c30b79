// src/torch/shape_rules/spectral.cpp: Fourier transforms.
#include <ATen/Context.h>

#include <algorithm>
#include <numeric>

#include "torch/shape_rules/families.h"
#include "torch/shape_rules/pointwise.h"

namespace stator {

namespace {

using Dims = c10::SmallVector<int64_t, 5>;

bool read_dims(const Call& call, int i, Dims& dims) {
  uint64_t seen = 0;
  for (const Size& d : call.sizes(i)) {
    int64_t dim = d.specialize();
    if (!wrap_dim(dim, call.tensor(0).dim()) || (seen >> dim & 1)) return false;
    seen |= uint64_t{1} << dim;
    dims.push_back(dim);
  }
  return true;
}

// Transforms over several dimensions commute, so torch works them off from the largest stride to the
// smallest.
void sort_by_stride(Dims::iterator begin, Dims::iterator end, const Sizes& strides) {
  std::stable_sort(begin, end, [&](int64_t a, int64_t b) { return strides[a] > strides[b]; });
}

// MKL's kernel writes all batch dimensions, outermost stride first, before the transformed ones; pocketfft's
// writes a contiguous tensor.
Sizes transformed_strides(const TensorMeta& input, const Sizes& sizes, const Dims& dims) {
  if (!at::hasMKL()) return contiguous_strides(sizes);
  Dims order;
  for (int64_t i = 0; i < input.dim(); ++i) {
    if (std::find(dims.begin(), dims.end(), i) == dims.end()) order.push_back(i);
  }
  sort_by_stride(order.begin(), order.end(), input.strides);
  order.append(dims.begin(), dims.end());
  Sizes strides(sizes.size());
  Size next = 1;
  for (size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = next;
    next *= max(sizes[order[i]], Size(1));
  }
  return strides;
}

bool is_transformable(const TensorMeta& self) { return self.device.is_cpu() && !(numel(self) == 0); }

TensorMeta complex_to_complex(const TensorMeta& self, Dims dims) {
  if (dims.empty()) return fresh_like(self, self.sizes, preserved_strides(self));
  sort_by_stride(dims.begin(), dims.end(), self.strides);
  return fresh_like(self, self.sizes, transformed_strides(self, self.sizes, dims));
}

// _fft_c2c(self, dim, normalization, forward)
bool c2c(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  Dims dims;
  if (!is_transformable(self) || !c10::isComplexType(self.dtype) || !read_dims(call, 1, dims)) return false;
  return answer_result(call, answer, complex_to_complex(self, dims));
}

// _fft_r2c(self, dim, normalization, onesided)
bool r2c(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  Dims dims;
  if (!is_transformable(self) || !c10::isFloatingType(self.dtype) || !read_dims(call, 1, dims)) return false;
  if (dims.empty()) return false;
  Sizes sizes = self.sizes;
  if (call.boolean(3)) sizes[dims.back()] = floordiv(sizes[dims.back()], Size(2)) + 1;
  sort_by_stride(dims.begin(), dims.end() - 1, self.strides);
  TensorMeta meta = fresh_like(self, sizes, transformed_strides(self, sizes, dims));
  meta.dtype = c10::toComplexType(self.dtype);
  return answer_result(call, answer, std::move(meta));
}

// _fft_c2r(self, dim, normalization, last_dim_size): all dimensions but the last as a complex transform.
bool c2r(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  Dims dims;
  if (!is_transformable(self) || !c10::isComplexType(self.dtype) || !read_dims(call, 1, dims)) return false;
  const Size length = call.size(3);
  if (dims.empty() || length < 1) return false;
  const int64_t last = dims.back();
  dims.pop_back();
  const TensorMeta input = dims.empty() ? self : complex_to_complex(self, dims);
  Sizes sizes = self.sizes;
  sizes[last] = length;
  TensorMeta meta = fresh_like(self, sizes, transformed_strides(input, sizes, {last}));
  meta.dtype = to_real(self.dtype);
  return answer_result(call, answer, std::move(meta));
}

constexpr RuleEntry kRules[] = {
    {"aten::_fft_c2c", c2c},     {"aten::_fft_c2c.out", c2c}, {"aten::_fft_r2c", r2c},
    {"aten::_fft_r2c.out", r2c}, {"aten::_fft_c2r", c2r},     {"aten::_fft_c2r.out", c2r},
};

}  // namespace

RuleTable spectral_rules() { return kRules; }

}  // namespace stator
