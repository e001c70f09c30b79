// src/torch/shape_rules/joining.cpp: operators that put tensors together, repeat or shift them.
#include "torch/shape_rules/families.h"
#include "torch/shape_rules/pointwise.h"
#include "torch/shape_rules/views.h"

namespace stator {

namespace {

// Empty tensors of rank 1 take no part in a cat, for old programs' sake.
bool is_skipped(const TensorMeta& meta) { return meta.dim() == 1 && meta.sizes[0] == 0; }

c10::MemoryFormat joined_format(std::span<const TensorMeta> parts) {
  auto format = c10::MemoryFormat::Contiguous;
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto own = suggested_format(parts[i]);
    if (own == c10::MemoryFormat::Contiguous || (i > 0 && own != format))
      return c10::MemoryFormat::Contiguous;
    format = own;
  }
  return format;
}

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

bool answer_padded(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  const Sizes pad = call.sizes(1);
  const int64_t pairs = static_cast<int64_t>(pad.size()) / 2;
  if (pad.size() % 2 != 0 || pairs > self.dim()) return false;
  bool grows = false;
  Sizes sizes = self.sizes;
  TensorMeta cut = self;
  for (int64_t i = 0; i < pairs; ++i) {
    const int64_t dim = self.dim() - 1 - i;
    for (int side = 0; side < 2; ++side) {
      const Size& amount = pad[2 * i + side];
      grows = grows || amount > 0;
      if (amount < 0) cut.sizes[dim] += amount;
      sizes[dim] += amount;
    }
    if (sizes[dim] < 0 || cut.sizes[dim] < 0) return false;
  }
  answer.fresh(
      fresh_like(self, sizes, grows ? strides_for(sizes, suggested_format(self)) : preserved_strides(cut)));
  return true;
}

bool pad(const Call& call, Answer& answer) {
  return call.text(2) == "constant" && answer_padded(call, answer);
}

TensorMeta rolled_once(const TensorMeta& self, int64_t dim, int64_t shift) {
  const Size length = self.sizes[dim];
  Size start = (length - Size(shift)) % length;
  TensorMeta tail = self, head = self;
  tail.sizes[dim] = length - start;
  head.sizes[dim] = start;
  const TensorMeta parts[] = {tail, head};
  return fresh_like(self, self.sizes, strides_for(self.sizes, joined_format(parts)));
}

// roll(self, shifts, dims)
bool roll(const Call& call, Answer& answer) {
  TensorMeta meta = call.tensor(0);
  const Sizes shifts = call.sizes(1), dims = call.sizes(2);
  if (numel(meta) == 0) {
    answer.fresh(fresh_like(meta, meta.sizes, preserved_strides(meta)));
    return true;
  }
  if (dims.empty()) {
    if (shifts.size() != 1) return false;
    answer.fresh(fresh_like(meta, meta.sizes, contiguous_strides(meta.sizes)));
    return true;
  }
  if (shifts.size() != dims.size() || meta.dim() == 0) return false;
  for (size_t i = 0; i < dims.size(); ++i) {
    int64_t dim = dims[i].specialize();
    if (!wrap_dim(dim, meta.dim())) return false;
    meta = rolled_once(meta, dim, shifts[i].specialize());
  }
  answer.fresh(fresh_like(meta, meta.sizes, meta.strides));
  return true;
}

bool flip(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  uint64_t seen = 0;
  for (const Size& d : call.sizes(1)) {
    int64_t dim = d.specialize();
    if (!wrap_dim(dim, self.dim()) || (seen >> dim & 1)) return false;
    seen |= uint64_t{1} << dim;
  }
  answer.fresh(fresh_like(self, self.sizes, preserved_strides(self)));
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
    {"aten::repeat", repeat},
    {"aten::repeat_interleave.self_int", repeat_interleave},
    {"aten::constant_pad_nd", answer_padded},
    {"aten::pad", pad},
    {"aten::roll", roll},
    {"aten::flip", flip},
    {"aten::tril", triangle},
    {"aten::tril_", triangle},
    {"aten::triu", triangle},
    {"aten::triu_", triangle},
};

}  // namespace

RuleTable joining_rules() { return kRules; }

}  // namespace stator
