// src/torch/inference/rules/spectral.cpp: Fourier transforms.
#include <ATen/Context.h>

#include <algorithm>
#include <numeric>

#include "torch/inference/rules/families.h"
#include "torch/inference/rules/pointwise.h"

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

// The frames of a signal, each times the window, transformed: frequencies come before frames in the result.
bool answer_frames(const Call& call, Answer& answer, const Size& extra, int window, int onesided, int complex,
                   int aligned) {
  TensorMeta self = call.tensor(0);
  if (!is_transformable(self) || !c10::isFloatingType(self.dtype) || (self.dim() != 1 && self.dim() != 2))
    return false;
  // Batches are worked off in the order of their strides, that of the frames among them.
  if (self.dim() == 2 && (!(self.strides[1] == 1) || !(self.strides[0] == self.sizes[1]))) return false;
  if (!call.has(complex) || !call.boolean(complex) || (call.has(aligned) && call.boolean(aligned)))
    return false;
  const Size points = call.size(1), step = call.has(2) ? call.size(2) : floordiv(points, Size(4));
  const Size width = call.has(3) ? call.size(3) : points;
  const Size length = self.sizes.back() + extra;
  if (!(points > 0) || points > length || !(step > 0) || step > length || !(width > 0) || width > points)
    return false;
  if (call.has(window)) {
    const TensorMeta& w = call.tensor(window);
    if (w.dim() != 1 || w.dtype != self.dtype || !(w.sizes[0] == width)) return false;
  }
  const bool half = !call.has(onesided) || call.boolean(onesided);
  const Size frequencies = half ? floordiv(points, Size(2)) + 1 : points;
  const Size frames = floordiv(length - points, step) + 1;
  Sizes sizes{frequencies, frames}, strides{Size(1), frequencies};
  if (self.dim() == 2) {
    sizes.insert(sizes.begin(), self.sizes[0]);
    strides.insert(strides.begin(), frequencies * frames);
  }
  TensorMeta meta = fresh_like(self, sizes, strides);
  meta.dtype = c10::toComplexType(self.dtype);
  answer.fresh(std::move(meta));
  return true;
}

// stft(self, n_fft, hop_length, win_length, window, normalized, onesided, return_complex, align_to_window)
bool frames_of(const Call& call, Answer& answer) { return answer_frames(call, answer, Size(0), 4, 6, 7, 8); }

// stft.center(self, n_fft, hop_length, win_length, window, center, pad_mode, normalized, onesided,
// return_complex, align_to_window)
bool frames_around(const Call& call, Answer& answer) {
  if (!call.boolean(5)) return answer_frames(call, answer, Size(0), 4, 8, 9, 10);
  const Size border = floordiv(call.size(1), Size(2));
  if (call.text(6) != "constant" && border >= call.tensor(0).sizes.back()) return false;
  return answer_frames(call, answer, border * 2, 4, 8, 9, 10);
}

// istft(self, n_fft, hop_length, win_length, window, center, normalized, onesided, length, return_complex):
// frames are laid over each other and divided by what the windows add up to. That this is not zero the kernel
// finds out in every run.
bool signal_of(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  if (!is_transformable(self) || !c10::isComplexType(self.dtype) || (self.dim() != 2 && self.dim() != 3))
    return false;
  if (call.boolean(9)) return false;
  const Size points = call.size(1), step = call.has(2) ? call.size(2) : floordiv(points, Size(4));
  const Size width = call.has(3) ? call.size(3) : points;
  if (!(points > 0) || !(step > 0) || step > width || !(width > 0) || width > points) return false;
  const Size& frequencies = self.sizes[self.dim() - 2];
  const bool half = call.has(7) ? call.boolean(7) : !(frequencies == points);
  if (!(frequencies == (half ? floordiv(points, Size(2)) + 1 : points))) return false;
  if (call.has(4)) {
    const TensorMeta& window = call.tensor(4);
    if (window.dim() != 1 || window.dtype != to_real(self.dtype) || !(window.sizes[0] == width)) return false;
  }
  const Size whole = points + step * (self.sizes.back() - 1), border = floordiv(points, Size(2));
  const bool centred = call.boolean(5);
  const Size start = centred ? border : Size(0);
  const Size length = call.has(8) ? call.size(8) : whole - start - (centred ? border : Size(0));
  if (!(length > 0)) return false;
  Sizes sizes{self.dim() == 3 ? self.sizes[0] : Size(1), length};
  TensorMeta laid = fresh_meta(sizes, to_real(self.dtype), self.device), divisor = laid;
  laid.strides = divisor.strides = {whole, Size(1)};
  divisor.sizes[0] = 1;
  const TensorMeta* operands[] = {&laid, &divisor};
  const bool is_padded = start + length > whole;
  laid.strides = is_padded ? contiguous_strides(sizes) : iterated_strides(sizes, operands);
  laid.sizes = sizes;
  if (self.dim() == 2) {
    laid.sizes.erase(laid.sizes.begin());
    laid.strides.erase(laid.strides.begin());
  }
  answer.fresh(std::move(laid));
  return true;
}

constexpr RuleEntry kRules[] = {
    {"aten::_fft_c2c", c2c},    {"aten::_fft_c2c.out", c2c},
    {"aten::_fft_r2c", r2c},    {"aten::_fft_r2c.out", r2c},
    {"aten::_fft_c2r", c2r},    {"aten::_fft_c2r.out", c2r},
    {"aten::stft", frames_of},  {"aten::stft.center", frames_around},
    {"aten::istft", signal_of},
};

}  // namespace

RuleTable spectral_rules() { return kRules; }

}  // namespace stator
