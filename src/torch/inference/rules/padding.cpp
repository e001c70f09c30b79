// src/torch/inference/rules/padding.cpp: tensors with a border.
#include "torch/inference/rules/families.h"
#include "torch/inference/rules/pointwise.h"

namespace stator {

namespace {

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

// reflection_pad2d(self, padding), replication_pad2d(self, padding): one pair for each spatial dimension.
bool answer_edges(const Call& call, Answer& answer, bool reflects) {
  const TensorMeta& self = call.tensor(0);
  const Sizes pad = call.sizes(1);
  const int64_t pairs = static_cast<int64_t>(pad.size()) / 2;
  if (pad.size() % 2 != 0 || pairs < 1 || pairs > 3 || numel(self) == 0) return false;
  if (self.dim() != pairs + 2 && self.dim() != pairs + 1) return false;
  Sizes sizes = self.sizes;
  for (int64_t i = 0; i < pairs; ++i) {
    const int64_t dim = self.dim() - 1 - i;
    for (int side = 0; side < 2; ++side) {
      if (reflects && pad[2 * i + side] >= self.sizes[dim]) return false;
      sizes[dim] += pad[2 * i + side];
    }
    if (sizes[dim] < (pairs > 1 ? 0 : 1)) return false;  // in one dimension something must be left
  }
  // Also without a batch: four dimensions laid out as channels last keep that layout, whatever they mean.
  return answer_result(call, answer, fresh_like(self, sizes, strides_for(sizes, suggested_format(self))));
}

bool reflection(const Call& call, Answer& answer) { return answer_edges(call, answer, true); }
bool replication(const Call& call, Answer& answer) { return answer_edges(call, answer, false); }

// pad(self, pad, mode, value)
bool pad(const Call& call, Answer& answer) {
  const auto mode = call.text(2);
  if (mode == "constant") return answer_padded(call, answer);
  if (mode == "reflect") return reflection(call, answer);
  return mode == "replicate" && replication(call, answer);
}

constexpr RuleEntry kRules[] = {
    {"aten::constant_pad_nd", answer_padded}, {"aten::pad", pad},
    {"aten::reflection_pad1d", reflection},   {"aten::reflection_pad1d.out", reflection},
    {"aten::reflection_pad2d", reflection},   {"aten::reflection_pad2d.out", reflection},
    {"aten::reflection_pad3d", reflection},   {"aten::reflection_pad3d.out", reflection},
    {"aten::replication_pad1d", replication}, {"aten::replication_pad1d.out", replication},
    {"aten::replication_pad2d", replication}, {"aten::replication_pad2d.out", replication},
    {"aten::replication_pad3d", replication}, {"aten::replication_pad3d.out", replication},
};

}  // namespace

RuleTable padding_rules() { return kRules; }

}  // namespace stator
