// src/torch/inference/rules/slicing.cpp: views of a part of a tensor, and of parts one after the other.
#include "torch/inference/rules/families.h"
#include "torch/inference/rules/views.h"

namespace stator {

namespace {

bool slice(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  int64_t dim = call.integer(1);
  if (self.dim() == 0 || !wrap_dim(dim, self.dim())) return false;
  const Size length = self.sizes[dim];
  const Size step = call.size(4);
  if (!(step > 0)) return false;
  Size start = call.has(2) ? call.size(2) : Size(0);
  Size end = call.has(3) ? call.size(3) : length;
  if (start < 0) start += length;
  if (end < 0) end += length;
  if (start < 0) start = 0;
  if (start > length) start = length;
  if (end < start) end = start;
  if (end > length) end = length;
  TensorMeta meta = view_of(self, self.sizes, self.strides, self.offset + start * self.strides[dim]);
  meta.sizes[dim] = floordiv(end - start + step - 1, step);
  meta.strides[dim] *= step;
  return answer_view(call, answer, std::move(meta));
}

bool narrow(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  int64_t dim = call.integer(1);
  if (!call.tensors(2).empty() || self.dim() == 0 || !wrap_dim(dim, self.dim())) return false;
  Size start = call.size(2);
  const Size length = call.size(3), limit = self.sizes[dim];
  if (start < 0) start += limit;
  if (start < 0 || length < 0 || start + length > limit) return false;
  TensorMeta meta = view_of(self, self.sizes, self.strides, self.offset + start * self.strides[dim]);
  meta.sizes[dim] = length;
  return answer_view(call, answer, std::move(meta));
}

bool select(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  int64_t dim = call.integer(1);
  if (self.dim() == 0 || !wrap_dim(dim, self.dim())) return false;
  Size index = call.size(2);
  const Size length = self.sizes[dim];
  if (index < -length || index >= length) return false;
  if (index < 0) index += length;
  TensorMeta meta = view_of(self, self.sizes, self.strides, self.offset + index * self.strides[dim]);
  drop_dim(meta, dim);
  return answer_view(call, answer, std::move(meta));
}

bool unbind(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  int64_t dim = call.integer(1);
  if (self.dim() == 0 || !wrap_dim(dim, self.dim())) return false;
  const int64_t count = self.sizes[dim].specialize();
  for (int64_t i = 0; i < count; ++i) {
    TensorMeta meta = view_of(self, self.sizes, self.strides, self.offset + Size(i) * self.strides[dim]);
    drop_dim(meta, dim);
    answer.view(0, std::move(meta));
  }
  return true;
}

// Parts along a dimension, one after the other.
bool answer_parts(const Call& call, Answer& answer, int64_t dim, std::span<const Size> lengths) {
  const TensorMeta& self = call.tensor(0);
  Size start = 0;
  for (const Size& length : lengths) {
    TensorMeta meta = view_of(self, self.sizes, self.strides, self.offset + start * self.strides[dim]);
    meta.sizes[dim] = length;
    answer.view(0, std::move(meta));
    start += length;
  }
  return true;
}

bool answer_split(const Call& call, Answer& answer, int64_t dim, const Size& part) {
  const TensorMeta& self = call.tensor(0);
  const Size length = self.sizes[dim];
  if (part < 0 || (part == 0 && !(length == 0))) return false;
  std::vector<Size> lengths;
  if (part == 0) {
    lengths.push_back(0);
  } else {
    const int64_t count = std::max<int64_t>(floordiv(length + part - 1, part).specialize(), 1);
    for (int64_t i = 0; i + 1 < count; ++i) lengths.push_back(part);
    lengths.push_back(length - part * Size(count - 1));
  }
  return answer_parts(call, answer, dim, lengths);
}

bool split(const Call& call, Answer& answer) {
  int64_t dim = call.integer(2);
  if (call.tensor(0).dim() == 0 || !wrap_dim(dim, call.tensor(0).dim())) return false;
  return answer_split(call, answer, dim, call.size(1));
}

bool split_with_sizes(const Call& call, Answer& answer) {
  int64_t dim = call.integer(2);
  if (call.tensor(0).dim() == 0 || !wrap_dim(dim, call.tensor(0).dim())) return false;
  const Sizes lengths = call.sizes(1);
  Size total = 0;
  for (const Size& length : lengths) {
    if (length < 0) return false;
    total += length;
  }
  if (!(total == call.tensor(0).sizes[dim])) return false;
  return answer_parts(call, answer, dim, lengths);
}

bool chunk(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  const int64_t chunks = call.integer(1);
  int64_t dim = call.integer(2);
  if (self.dim() == 0 || chunks <= 0 || !wrap_dim(dim, self.dim())) return false;
  const Size length = self.sizes[dim];
  const Size part = floordiv(length + chunks - 1, chunks);
  if (part == 0) {
    std::vector<Size> lengths(chunks, Size(0));
    return answer_parts(call, answer, dim, lengths);
  }
  return answer_split(call, answer, dim, part);
}

bool unfold(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  int64_t dim = call.integer(1);
  if (self.dim() == 0 || !wrap_dim(dim, self.dim())) return false;
  const Size window = call.size(2), step = call.size(3);
  if (window < 0 || window > self.sizes[dim] || !(step > 0)) return false;
  TensorMeta meta = view_of(self, self.sizes, self.strides, self.offset);
  meta.sizes.push_back(window);
  meta.strides.push_back(self.strides[dim]);
  meta.sizes[dim] = floordiv(self.sizes[dim] - window, step) + 1;
  meta.strides[dim] *= step;
  return answer_view(call, answer, std::move(meta));
}

bool as_strided(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  const Sizes sizes = call.sizes(1), strides = call.sizes(2);
  if (sizes.size() != strides.size()) return false;
  for (const Size& s : strides) {
    if (s < 0) return false;
  }
  return answer_view(call, answer, view_of(self, sizes, strides, call.has(3) ? call.size(3) : self.offset));
}

bool diagonal(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  const Size offset = call.size(1);
  int64_t a = call.integer(2), b = call.integer(3);
  if (!wrap_dim(a, self.dim()) || !wrap_dim(b, self.dim()) || a == b) return false;
  Size length =
      offset >= 0 ? min(self.sizes[a], self.sizes[b] - offset) : min(self.sizes[a] + offset, self.sizes[b]);
  length = max(length, Size(0));
  Size start = self.offset;
  if (!(length == 0)) start += offset >= 0 ? offset * self.strides[b] : -offset * self.strides[a];
  TensorMeta meta = view_of(self, self.sizes, self.strides, start);
  const Size stride = self.strides[a] + self.strides[b];
  drop_dim(meta, std::max(a, b));
  drop_dim(meta, std::min(a, b));
  meta.sizes.push_back(length);
  meta.strides.push_back(stride);
  return answer_view(call, answer, std::move(meta));
}

constexpr RuleEntry kRules[] = {
    {"aten::slice.Tensor", slice},
    {"aten::narrow", narrow},
    {"aten::select.int", select},
    {"aten::unbind.int", unbind},
    {"aten::split.Tensor", split},
    {"aten::split.sizes", split_with_sizes},
    {"aten::split_with_sizes", split_with_sizes},
    {"aten::chunk", chunk},
    {"aten::unfold", unfold},
    {"aten::as_strided", as_strided},
    {"aten::as_strided_", as_strided},
    {"aten::diagonal", diagonal},
};

}  // namespace

RuleTable slicing_rules() { return kRules; }

}  // namespace stator
