// src/torch/inference/rules/indexing.cpp: gathers, scatters and indexing by tensors.
#include "torch/inference/rules/families.h"
#include "torch/inference/rules/pointwise.h"
#include "torch/inference/rules/views.h"

namespace stator {

namespace {

using c10::ScalarType;

bool is_index(const TensorMeta& meta) {
  return meta.dtype == ScalarType::Long || meta.dtype == ScalarType::Int;
}

bool embedding(const Call& call, Answer& answer) {
  const TensorMeta &weight = call.tensor(0), &indices = call.tensor(1);
  if (weight.dim() != 2 || !is_index(indices)) return false;
  Sizes sizes = indices.sizes;
  sizes.push_back(weight.sizes[1]);
  answer.fresh(fresh_meta(sizes, weight.dtype, weight.device));
  return true;
}

bool index_select(const Call& call, Answer& answer) {
  const TensorMeta &self = call.tensor(0), &index = call.tensor(2);
  int64_t dim = call.integer(1);
  if (index.dim() > 1 || !is_index(index) || self.dim() == 0 || !wrap_dim(dim, self.dim())) return false;
  Sizes sizes = self.sizes;
  sizes[dim] = numel(index);
  return answer_result(call, answer, fresh_meta(sizes, self.dtype, self.device));
}

bool gather(const Call& call, Answer& answer) {
  const TensorMeta &self = call.tensor(0), &index = call.tensor(2);
  int64_t dim = call.integer(1);
  if (!is_index(index) || !wrap_dim(dim, self.dim())) return false;
  if (std::max<int64_t>(index.dim(), 1) != std::max<int64_t>(self.dim(), 1)) return false;
  for (int64_t i = 0; i < index.dim() && i < self.dim(); ++i) {
    if (i != dim && index.sizes[i] > self.sizes[i]) return false;
  }
  return answer_result(call, answer, fresh_meta(index.sizes, self.dtype, self.device));
}

// take_along_dim(self, indices, dim)
bool take_along_dim(const Call& call, Answer& answer) {
  const TensorMeta &self = call.tensor(0), &index = call.tensor(1);
  if (!call.has(2) || index.dtype != ScalarType::Long || self.dim() == 0 || self.dim() != index.dim())
    return false;
  int64_t dim = call.integer(2);
  if (!wrap_dim(dim, self.dim()) || !is_contiguous(self) || !is_contiguous(index)) return false;
  Sizes sizes = index.sizes, other = self.sizes;
  other[dim] = sizes[dim];
  if (!broadcast(sizes, other)) return false;
  return answer_result(call, answer, fresh_meta(sizes, self.dtype, self.device));
}

// multinomial(self, num_samples, replacement, *, generator)
bool multinomial(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  const Size count = call.size(1);
  if (!c10::isFloatingType(self.dtype) || self.dim() < 1 || self.dim() > 2 || count < Size(1)) return false;
  if (!call.boolean(2) && count > self.sizes[self.dim() - 1]) return false;
  Sizes sizes = self.sizes;
  sizes[self.dim() - 1] = count;
  answer.fresh(fresh_meta(sizes, ScalarType::Long, self.device));
  return true;
}

// scatter(self, dim, index, src or value, …) and its kin
bool scatter(const Call& call, Answer& answer) {
  const TensorMeta &self = call.tensor(0), &index = call.tensor(2);
  int64_t dim = call.integer(1);
  if (!is_index(index) || !wrap_dim(dim, self.dim())) return false;
  if (!call.tensors(3).empty() && call.tensor(3).dtype != self.dtype) return false;
  if (!(numel(index) == 0)) {
    if (std::max<int64_t>(index.dim(), 1) != std::max<int64_t>(self.dim(), 1)) return false;
    for (int64_t i = 0; i < index.dim() && i < self.dim(); ++i) {
      if (i != dim && index.sizes[i] > self.sizes[i]) return false;
      if (!call.tensors(3).empty() && i < call.tensor(3).dim() && index.sizes[i] > call.tensor(3).sizes[i])
        return false;
    }
  }
  return answer_result(call, answer, fresh_meta(self.sizes, self.dtype, self.device));
}

// index_add(self, dim, index, source, *, alpha): the result is laid out contiguously.
bool index_add(const Call& call, Answer& answer) {
  const TensorMeta &self = call.tensor(0), &index = call.tensor(2), &source = call.tensor(3);
  int64_t dim = call.integer(1);
  if (!is_index(index) || index.dim() > 1 || source.dtype != self.dtype || !wrap_dim(dim, self.dim()))
    return false;
  return answer_result(call, answer, fresh_meta(self.sizes, self.dtype, self.device));
}

// self copied, then written: index_fill, index_put
bool copied_self(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  if (call.written(0)) {
    answer.same(0, self);
  } else {
    answer.fresh(fresh_like(self, self.sizes, preserved_strides(self)));
  }
  return true;
}

bool has_mask(const std::vector<const TensorMeta*>& indices) {
  for (const TensorMeta* index : indices) {
    if (index && (index->dtype == ScalarType::Bool || index->dtype == ScalarType::Byte)) return true;
  }
  return false;
}

// Masks are fine here: the number of true elements does not show in the result.
bool index_put(const Call& call, Answer& answer) {
  if (call.tensor(2).dtype != call.tensor(0).dtype) return false;
  return copied_self(call, answer);
}

// index.Tensor: indexed dimensions become the broadcast shape of the indices, in place if they are adjacent,
// in front otherwise; the result is laid out by iterating over self and the indices.
bool index(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  auto indices = call.optional_tensors(1);
  if (indices.size() > self.sizes.size() || has_mask(indices)) return false;
  indices.resize(self.sizes.size(), nullptr);
  Sizes common;
  int64_t first = -1, last = -1, count = 0;
  for (size_t i = 0; i < indices.size(); ++i) {
    if (!indices[i]) continue;
    if (!is_index(*indices[i]) || !broadcast(common, indices[i]->sizes)) return false;
    if (first < 0) first = static_cast<int64_t>(i);
    last = static_cast<int64_t>(i);
    ++count;
  }
  if (count == 0) return false;
  const bool adjacent = last - first + 1 == count;
  Sizes sizes, strides;
  size_t before = 0;
  const auto keep = [&](size_t i) {
    sizes.push_back(self.sizes[i]);
    strides.push_back(self.strides[i]);
  };
  const auto replace = [&] {
    before = sizes.size();
    for (const Size& s : common) {
      sizes.push_back(s);
      strides.push_back(0);
    }
  };
  if (!adjacent) replace();
  for (size_t i = 0; i < indices.size(); ++i) {
    if (!indices[i]) {
      keep(i);
    } else if (adjacent && static_cast<int64_t>(i) == first) {
      replace();
    }
  }
  // Values cannot be picked out of dimensions of length 0.
  if (!(product(sizes) == 0)) {
    for (size_t i = 0; i < indices.size(); ++i) {
      if (indices[i] && self.sizes[i] == 0) return false;
    }
  }
  std::vector<TensorMeta> operands{fresh_like(self, sizes, strides)};
  for (const TensorMeta* index : indices) {
    if (!index) continue;
    TensorMeta expanded_index, reshaped;
    if (!expanded(*index, common, expanded_index)) return false;
    Sizes shape(sizes.size(), Size(1));
    for (size_t i = 0; i < common.size(); ++i) shape[before + i] = common[i];
    if (!reshaped_strides(expanded_index, shape, reshaped.strides))
      reshaped.strides = contiguous_strides(shape);
    reshaped.sizes = shape;
    operands.push_back(std::move(reshaped));
  }
  std::vector<const TensorMeta*> pointers;
  for (const TensorMeta& operand : operands) pointers.push_back(&operand);
  answer.fresh(fresh_like(self, sizes, iterated_strides(sizes, pointers)));
  return true;
}

bool take(const Call& call, Answer& answer) {
  const TensorMeta &self = call.tensor(0), &index = call.tensor(1);
  if (index.dtype != ScalarType::Long) return false;
  return answer_result(call, answer, fresh_meta(index.sizes, self.dtype, self.device));
}

// nll_loss2d_forward(self, target, weight, reduction, ignore_index): the loss and the sum of the weights.
bool nll_loss2d(const Call& call, Answer& answer) {
  const TensorMeta &self = call.tensor(0), &target = call.tensor(1);
  if (self.dim() != 4 || target.dim() != 3 || !c10::isFloatingType(self.dtype)) return false;
  for (int i : {0, 2, 3}) {
    if (!(self.sizes[i] == target.sizes[i == 0 ? 0 : i - 1])) return false;
  }
  const bool none = call.integer(3) == 0;
  answer.fresh(fresh_meta(none ? target.sizes : Sizes{}, self.dtype, self.device));
  answer.fresh(fresh_meta({}, self.dtype, self.device));
  return true;
}

// ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity)
bool ctc_loss(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  if (self.dtype != ScalarType::Float && self.dtype != ScalarType::Double) return false;
  if (self.dim() != 2 && self.dim() != 3) return false;
  const bool each = call.integer(5) == 0 && self.dim() == 3;
  answer.fresh(fresh_meta(each ? Sizes{self.sizes[1]} : Sizes{}, self.dtype, self.device));
  return true;
}

constexpr RuleEntry kRules[] = {
    {"aten::ctc_loss.IntList", ctc_loss},
    {"aten::ctc_loss.Tensor", ctc_loss},
    {"aten::nll_loss2d_forward", nll_loss2d},
    {"aten::embedding", embedding},
    {"aten::index_select", index_select},
    {"aten::index_select.out", index_select},
    {"aten::take_along_dim", take_along_dim},
    {"aten::multinomial", multinomial},
    {"aten::gather", gather},
    {"aten::gather.out", gather},
    {"aten::scatter.src", scatter},
    {"aten::scatter_.src", scatter},
    {"aten::scatter.value", scatter},
    {"aten::scatter_.value", scatter},
    {"aten::scatter.reduce", scatter},
    {"aten::scatter_.reduce", scatter},
    {"aten::scatter.value_reduce", scatter},
    {"aten::scatter_.value_reduce", scatter},
    {"aten::scatter_add", scatter},
    {"aten::scatter_add_", scatter},
    {"aten::scatter_reduce.two", scatter},
    {"aten::scatter_reduce_.two", scatter},
    {"aten::index_add", index_add},
    {"aten::index_add_", index_add},
    {"aten::index_copy", index_add},
    {"aten::index_copy_", index_add},
    {"aten::index_fill.int_Scalar", copied_self},
    {"aten::index_fill_.int_Scalar", copied_self},
    {"aten::index_fill.int_Tensor", copied_self},
    {"aten::index_fill_.int_Tensor", copied_self},
    {"aten::index_put", index_put},
    {"aten::index_put_", index_put},
    {"aten::index.Tensor", index},
    {"aten::take", take},
    {"aten::put", copied_self},
    {"aten::put_", copied_self},
};

}  // namespace

RuleTable indexing_rules() { return kRules; }

}  // namespace stator
