// src/torch/inference/rules/reshaping.cpp: views with other sizes over the same elements: view, reshape,
// flatten, squeeze, expand.
#include "torch/inference/rules/families.h"
#include "torch/inference/rules/views.h"

namespace stator {

namespace {

bool view(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  Sizes sizes = call.sizes(1), strides;
  if (!infer_size(sizes, numel(self)) || !reshaped_strides(self, sizes, strides)) return false;
  return answer_view(call, answer, view_of(self, sizes, strides, self.offset));
}

// Shares memory, but torch treats the result as a tensor of its own: its callers drop the argument.
bool unsafe_view(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  Sizes sizes = call.sizes(1), strides;
  if (!infer_size(sizes, numel(self)) || !reshaped_strides(self, sizes, strides)) return false;
  answer.fresh(view_of(self, sizes, strides, self.offset));
  return true;
}

bool reshape_to(const Call& call, Answer& answer, Sizes sizes) {
  const TensorMeta& self = call.tensor(0);
  Sizes strides;
  if (!infer_size(sizes, numel(self))) return false;
  if (reshaped_strides(self, sizes, strides)) {
    answer.view(0, view_of(self, sizes, strides, self.offset));
  } else {
    answer.fresh(fresh_meta(sizes, self.dtype, self.device));
  }
  return true;
}

bool reshape(const Call& call, Answer& answer) { return reshape_to(call, answer, call.sizes(1)); }

bool reshape_as(const Call& call, Answer& answer) { return reshape_to(call, answer, call.tensor(1).sizes); }

bool view_as(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  Sizes sizes = call.tensor(1).sizes, strides;
  if (!infer_size(sizes, numel(self)) || !reshaped_strides(self, sizes, strides)) return false;
  return answer_view(call, answer, view_of(self, sizes, strides, self.offset));
}

bool flatten(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  int64_t start = call.integer(1), end = call.integer(2);
  if (!wrap_dim(start, self.dim()) || !wrap_dim(end, self.dim()) || start > end) return false;
  if (self.dim() == 0) return reshape_to(call, answer, {Size(1)});
  if (start == end) return answer.same(0, self), true;
  Sizes sizes(self.sizes.begin(), self.sizes.begin() + start);
  Size together = 1;
  for (int64_t i = start; i <= end; ++i) together *= self.sizes[i];
  sizes.push_back(together);
  sizes.append(self.sizes.begin() + end + 1, self.sizes.end());
  return reshape_to(call, answer, sizes);
}

bool unflatten(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  int64_t dim = call.integer(1);
  if (!wrap_dim(dim, self.dim()) || self.dim() == 0) return false;
  Sizes parts = call.sizes(2);
  if (!infer_size(parts, self.sizes[dim])) return false;
  Sizes sizes(self.sizes.begin(), self.sizes.begin() + dim), strides;
  sizes.append(parts.begin(), parts.end());
  sizes.append(self.sizes.begin() + dim + 1, self.sizes.end());
  if (!reshaped_strides(self, sizes, strides)) return false;
  return answer_view(call, answer, view_of(self, sizes, strides, self.offset));
}

bool expand(const Call& call, Answer& answer) {
  TensorMeta meta;
  return expanded(call.tensor(0), call.sizes(1), meta) && answer_view(call, answer, std::move(meta));
}

bool expand_as(const Call& call, Answer& answer) {
  TensorMeta meta;
  return expanded(call.tensor(0), call.tensor(1).sizes, meta) && answer_view(call, answer, std::move(meta));
}

bool unsqueeze(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  int64_t dim = call.integer(1);
  if (!wrap_dim(dim, self.dim() + 1)) return false;
  TensorMeta meta = view_of(self, self.sizes, self.strides, self.offset);
  const Size stride = dim == self.dim() ? Size(1) : self.sizes[dim] * self.strides[dim];
  meta.sizes.insert(meta.sizes.begin() + dim, Size(1));
  meta.strides.insert(meta.strides.begin() + dim, stride);
  return answer_view(call, answer, std::move(meta));
}

bool answer_squeezed(const Call& call, Answer& answer, uint64_t dims) {
  const TensorMeta& self = call.tensor(0);
  Sizes sizes, strides;
  for (int64_t i = 0; i < self.dim(); ++i) {
    if ((dims >> i & 1) && self.sizes[i] == 1) continue;
    sizes.push_back(self.sizes[i]);
    strides.push_back(self.strides[i]);
  }
  return answer_view(call, answer, view_of(self, std::move(sizes), std::move(strides), self.offset));
}

bool squeeze(const Call& call, Answer& answer) { return answer_squeezed(call, answer, ~uint64_t{0}); }

bool squeeze_dims(const Call& call, Answer& answer) {
  uint64_t dims = 0;
  for (const Size& d : call.sizes(1)) {
    int64_t dim = d.specialize();
    if (!wrap_dim(dim, call.tensor(0).dim()) || (dims >> dim & 1)) return false;
    dims |= uint64_t{1} << dim;
  }
  return answer_squeezed(call, answer, dims);
}

constexpr RuleEntry kRules[] = {
    {"aten::view", view},
    {"aten::_unsafe_view", unsafe_view},
    {"aten::reshape", reshape},
    {"aten::reshape_as", reshape_as},
    {"aten::view_as", view_as},
    {"aten::flatten.using_ints", flatten},
    {"aten::unflatten.int", unflatten},
    {"aten::expand", expand},
    {"aten::expand_as", expand_as},
    {"aten::unsqueeze", unsqueeze},
    {"aten::unsqueeze_", unsqueeze},
    {"aten::squeeze", squeeze},
    {"aten::squeeze_", squeeze},
    {"aten::squeeze.dim", squeeze_dims},
    {"aten::squeeze_.dim", squeeze_dims},
    {"aten::squeeze.dims", squeeze_dims},
};

}  // namespace

RuleTable reshaping_rules() { return kRules; }

}  // namespace stator
