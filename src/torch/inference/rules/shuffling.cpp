// src/torch/inference/rules/shuffling.cpp: the same elements in another order: roll, flip, shuffles.
#include "torch/inference/rules/families.h"
#include "torch/inference/rules/layout.h"

namespace stator {

namespace {

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

// pixel_shuffle(self, upscale_factor)
bool pixel_shuffle(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  const int64_t factor = call.integer(1), rank = self.dim();
  if (rank < 3 || factor < 1 || !self.device.is_cpu() || numel(self) == 0) return false;
  if (!(self.sizes[rank - 3] % (factor * factor) == 0)) return false;
  Sizes sizes = self.sizes;
  sizes[rank - 3] = floordiv(sizes[rank - 3], Size(factor * factor));
  sizes[rank - 2] *= factor;
  sizes[rank - 1] *= factor;
  answer.fresh(fresh_like(self, sizes, strides_for(sizes, suggested_format(self))));
  return true;
}

// pixel_unshuffle(self, downscale_factor)
bool pixel_unshuffle(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  const int64_t factor = call.integer(1), rank = self.dim();
  if (rank < 3 || factor < 1 || !self.device.is_cpu() || numel(self) == 0) return false;
  if (!(self.sizes[rank - 2] % factor == 0) || !(self.sizes[rank - 1] % factor == 0)) return false;
  Sizes sizes = self.sizes;
  sizes[rank - 3] *= factor * factor;
  sizes[rank - 2] = floordiv(sizes[rank - 2], Size(factor));
  sizes[rank - 1] = floordiv(sizes[rank - 1], Size(factor));
  answer.fresh(fresh_like(self, sizes, strides_for(sizes, suggested_format(self))));
  return true;
}

// channel_shuffle(self, groups)
bool channel_shuffle(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  const Size groups = call.size(1);
  if (self.dim() < 3 || !self.device.is_cpu() || numel(self) == 0) return false;
  if (!(groups > 0) || !(self.sizes[1] % groups == 0)) return false;
  answer.fresh(fresh_like(self, self.sizes, strides_for(self.sizes, suggested_format(self))));
  return true;
}

constexpr RuleEntry kRules[] = {
    {"aten::roll", roll},
    {"aten::flip", flip},
    {"aten::pixel_shuffle", pixel_shuffle},
    {"aten::pixel_unshuffle", pixel_unshuffle},
    {"aten::channel_shuffle", channel_shuffle},
    {"aten::native_channel_shuffle", channel_shuffle},
};

}  // namespace

RuleTable shuffling_rules() { return kRules; }

}  // namespace stator
