// src/torch/inference/rules/sorting.cpp: sorting, searching and histograms.
#include "torch/inference/rules/families.h"
#include "torch/inference/rules/pointwise.h"

namespace stator {

namespace {

using c10::ScalarType;

bool answer_sorted(const Call& call, Answer& answer, int64_t dim) {
  const TensorMeta& self = call.tensor(0);
  if (c10::isComplexType(self.dtype) || !wrap_dim(dim, self.dim())) return false;
  TensorMeta values = fresh_like(self, self.sizes, preserved_strides(self));
  TensorMeta indices = values;
  indices.dtype = ScalarType::Long;
  answer.fresh(std::move(values));
  answer.fresh(std::move(indices));
  return true;
}

bool sort(const Call& call, Answer& answer) { return answer_sorted(call, answer, call.integer(1)); }

// sort.stable(self, *, stable, dim, descending)
bool sort_stable(const Call& call, Answer& answer) { return answer_sorted(call, answer, call.integer(2)); }

bool argsort(const Call& call, Answer& answer) {
  if (!answer_sorted(call, answer, call.integer(1))) return false;
  answer.specs.erase(answer.specs.begin());
  return true;
}

bool argsort_stable(const Call& call, Answer& answer) {
  if (!answer_sorted(call, answer, call.integer(2))) return false;
  answer.specs.erase(answer.specs.begin());
  return true;
}

bool topk(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  const Size k = call.size(1);
  int64_t dim = call.integer(2);
  if (c10::isComplexType(self.dtype) || !wrap_dim(dim, self.dim())) return false;
  Sizes sizes = self.sizes;
  if (self.dim() == 0 ? k > 1 : k > self.sizes[dim]) return false;
  if (k < 0) return false;
  if (!sizes.empty()) sizes[dim] = k;
  answer.fresh(fresh_meta(sizes, self.dtype, self.device));
  answer.fresh(fresh_meta(sizes, ScalarType::Long, self.device));
  return true;
}

bool histc(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  const Size bins = call.size(1);
  if (!(bins > 0) || !c10::isFloatingType(self.dtype)) return false;
  answer.fresh(fresh_meta({bins}, self.dtype, self.device));
  return true;
}

// bucketize.Tensor(self, boundaries, *, out_int32, right)
bool bucketize(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  if (call.tensor(1).dim() != 1 || call.tensor(1).dtype != self.dtype) return false;
  answer.fresh(fresh_meta(self.sizes, call.boolean(2) ? ScalarType::Int : ScalarType::Long, self.device));
  return true;
}

// With a given number of classes: torch checks the values, but the shape does not depend on them.
bool one_hot(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  const Size classes = call.size(1);
  if (!(classes > 0) || self.dtype != ScalarType::Long) return false;
  Sizes sizes = self.sizes;
  sizes.push_back(classes);
  answer.fresh(fresh_meta(sizes, ScalarType::Long, self.device));
  return true;
}

// searchsorted.Tensor(sorted_sequence, self, *, out_int32, right, side, sorter)
bool searchsorted(const Call& call, Answer& answer) {
  const TensorMeta &sequence = call.tensor(0), &self = call.tensor(1);
  if (sequence.dtype != self.dtype || (sequence.dim() != 1 && sequence.dim() != self.dim())) return false;
  answer.fresh(fresh_meta(self.sizes, call.boolean(2) ? ScalarType::Int : ScalarType::Long, self.device));
  return true;
}

// nonzero_static(self, *, size, fill_value): as many rows as asked for, whatever the values.
bool nonzero_static(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  const Size rows = call.size(1);
  if (rows < 0 || !self.device.is_cpu()) return false;
  return answer_result(call, answer, fresh_meta({rows, Size(self.dim())}, ScalarType::Long, self.device));
}

constexpr RuleEntry kRules[] = {
    {"aten::sort", sort},
    {"aten::sort.stable", sort_stable},
    {"aten::argsort", argsort},
    {"aten::argsort.stable", argsort_stable},
    {"aten::topk", topk},
    {"aten::histc", histc},
    {"aten::bucketize.Tensor", bucketize},
    {"aten::searchsorted.Tensor", searchsorted},
    {"aten::one_hot", one_hot},
    {"aten::nonzero_static", nonzero_static},
    {"aten::nonzero_static.out", nonzero_static},
};

}  // namespace

RuleTable sorting_rules() { return kRules; }

}  // namespace stator
