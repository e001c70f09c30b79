// src/torch/inference/rules/joining.cpp: operators that put tensors together, repeat or shift them.
#include "torch/inference/rules/families.h"
#include "torch/inference/rules/pointwise.h"
#include "torch/inference/rules/views.h"

namespace stator {

namespace {

// Empty tensors of rank 1 take no part in a cat, for old programs' sake.
bool is_skipped(const TensorMeta& meta) { return meta.dim() == 1 && meta.sizes[0] == 0; }

bool joined(std::span<const TensorMeta> parts, int64_t dim, TensorMeta& result) {
  if (parts.empty()) return false;
  Promotion promotion;
  const TensorMeta* first = nullptr;
  Sizes sizes;
  for (const TensorMeta& part : parts) {
    promotion.add(part);
    if (part.dim() == 0 || part.device != parts[0].device) return false;
    if (is_skipped(part)) continue;
    if (!first) {
      first = &part;
      if (!wrap_dim(dim, part.dim())) return false;
      sizes = part.sizes;
      continue;
    }
    if (part.dim() != first->dim()) return false;
    for (int64_t i = 0; i < part.dim(); ++i) {
      if (i != dim && !(part.sizes[i] == sizes[i])) return false;
    }
    sizes[dim] += part.sizes[dim];
  }
  if (!first) sizes = {Size(0)};
  result = fresh_meta(sizes, promotion.result(), parts[0].device);
  result.strides = strides_for(sizes, joined_format(parts));
  return true;
}

bool cat(const Call& call, Answer& answer) {
  TensorMeta meta;
  if (!joined(call.tensors(0), call.integer(1), meta)) return false;
  answer.fresh(std::move(meta));
  return true;
}

bool stack(const Call& call, Answer& answer) {
  const auto& parts = call.tensors(0);
  if (parts.empty()) return false;
  int64_t dim = call.integer(1);
  const int64_t rank = parts[0].dim();
  if (!wrap_dim(dim, rank + 1)) return false;
  for (const TensorMeta& part : parts) {
    if (part.dim() != rank || !std::equal(part.sizes.begin(), part.sizes.end(), parts[0].sizes.begin()))
      return false;
  }
  TensorMeta meta;
  if (dim < rank) {
    if (!joined(parts, dim, meta)) return false;
    Sizes sizes = parts[0].sizes, strides;
    sizes.insert(sizes.begin() + dim, Size(static_cast<int64_t>(parts.size())));
    if (!reshaped_strides(meta, sizes, strides)) return false;
    meta.sizes = sizes;
    meta.strides = strides;
  } else {
    std::vector<TensorMeta> unsqueezed = parts;
    for (TensorMeta& part : unsqueezed) {
      part.sizes.push_back(1);
      part.strides.push_back(1);
    }
    if (!joined(unsqueezed, dim, meta)) return false;
  }
  answer.fresh(std::move(meta));
  return true;
}

// diff(self, n, dim, prepend, append): n times the difference of two slices of what was joined.
bool diff(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  const int64_t n = call.integer(1);
  int64_t dim = call.integer(2);
  if (self.dim() == 0 || n < 1 || !wrap_dim(dim, self.dim())) return false;
  TensorMeta meta = self;
  if (call.has(3) || call.has(4)) {
    std::vector<TensorMeta> parts;
    if (call.has(3)) parts.push_back(call.tensor(3));
    parts.push_back(self);
    if (call.has(4)) parts.push_back(call.tensor(4));
    if (!joined(parts, dim, meta)) return false;
  }
  for (int64_t i = 0; i < n; ++i) {
    if (!(meta.sizes[dim] > 0)) return false;
    TensorMeta slice = meta;
    slice.sizes[dim] -= 1;
    const TensorMeta* operands[] = {&slice, &slice};
    meta = fresh_like(self, slice.sizes, iterated_strides(slice.sizes, operands));
    meta.dtype = slice.dtype;
  }
  answer.fresh(std::move(meta));
  return true;
}

bool repeat(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  const Sizes repeats = call.sizes(1);
  if (repeats.size() < self.sizes.size()) return false;
  Sizes sizes = repeats;
  const size_t extra = repeats.size() - self.sizes.size();
  for (size_t i = 0; i < repeats.size(); ++i) {
    if (repeats[i] < 0) return false;
    if (i >= extra) sizes[i] *= self.sizes[i - extra];
  }
  answer.fresh(fresh_meta(sizes, self.dtype, self.device));
  return true;
}

// repeat_interleave.self_int(self, repeats, dim, *, output_size)
bool repeat_interleave(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  const Size repeats = call.size(1);
  if (repeats < 0) return false;
  Sizes sizes = self.sizes;
  if (!call.has(2)) {
    sizes = {numel(self) * repeats};
  } else {
    int64_t dim = call.integer(2);
    if (self.dim() == 0 || !wrap_dim(dim, self.dim())) return false;
    sizes[dim] *= repeats;
  }
  answer.fresh(fresh_meta(sizes, self.dtype, self.device));
  return true;
}

bool triangle(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  if (self.dim() < 2) return false;
  return answer_result(call, answer, fresh_meta(self.sizes, self.dtype, self.device));
}

constexpr RuleEntry kRules[] = {
    {"aten::cat", cat},
    {"aten::concat", cat},
    {"aten::concatenate", cat},
    {"aten::stack", stack},
    {"aten::diff", diff},
    {"aten::repeat", repeat},
    {"aten::repeat_interleave.self_int", repeat_interleave},
    {"aten::tril", triangle},
    {"aten::tril_", triangle},
    {"aten::triu", triangle},
    {"aten::triu_", triangle},
};

}  // namespace

RuleTable joining_rules() { return kRules; }

}  // namespace stator
