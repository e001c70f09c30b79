// src/torch/inference/rules/reinterpreting.cpp: views of a whole tensor: aliases, complex numbers as pairs,
// and the same bytes as another dtype.
#include "torch/inference/rules/families.h"
#include "torch/inference/rules/pointwise.h"
#include "torch/inference/rules/views.h"

namespace stator {

namespace {

bool whole(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  return answer_view(call, answer, view_of(self, self.sizes, self.strides, self.offset));
}

bool view_as_real(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  if (!c10::isComplexType(self.dtype)) return false;
  TensorMeta meta = view_of(self, self.sizes, self.strides, self.offset * 2);
  for (Size& stride : meta.strides) stride *= 2;
  meta.sizes.push_back(2);
  meta.strides.push_back(1);
  meta.dtype = to_real(self.dtype);
  return answer_view(call, answer, std::move(meta));
}

bool view_as_complex(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  if (!c10::isFloatingType(self.dtype) || self.dim() == 0) return false;
  if (!(self.sizes.back() == 2) || !(self.strides.back() == 1) || !(self.offset % 2 == 0)) return false;
  TensorMeta meta = view_of(self, self.sizes, self.strides, floordiv(self.offset, Size(2)));
  drop_dim(meta, self.dim() - 1);
  for (Size& stride : meta.strides) {
    if (!(stride % 2 == 0)) return false;
    stride = floordiv(stride, Size(2));
  }
  meta.dtype = c10::toComplexType(self.dtype);
  return answer_view(call, answer, std::move(meta));
}

// Elements of another size divide or join those of the innermost dimension, which lies without gaps.
bool view_dtype(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  const c10::ScalarType dtype = call.dtype(1);
  const auto old_size = static_cast<int64_t>(c10::elementSize(self.dtype));
  const auto new_size = static_cast<int64_t>(c10::elementSize(dtype));
  TensorMeta meta = view_of(self, self.sizes, self.strides, self.offset);
  meta.dtype = dtype;
  if (old_size == new_size) return answer_view(call, answer, std::move(meta));
  if (self.dim() == 0 || !(self.strides.back() == 1)) return false;
  const Size ratio = std::max(old_size, new_size) / std::min(old_size, new_size);
  const auto scale = [&](Size& number) {
    if (old_size > new_size) {
      number *= ratio;
    } else if (number % ratio == 0) {
      number = floordiv(number, ratio);
    } else {
      return false;
    }
    return true;
  };
  if (!scale(meta.sizes.back()) || !scale(meta.offset)) return false;
  for (size_t i = 0; i + 1 < meta.strides.size(); i++) {
    if (!scale(meta.strides[i])) return false;
  }
  return answer_view(call, answer, std::move(meta));
}

constexpr RuleEntry kRules[] = {
    {"aten::alias", whole},
    {"aten::detach", whole},
    {"aten::detach_", whole},
    {"aten::view_as_real", view_as_real},
    {"aten::view_as_complex", view_as_complex},
    {"aten::view.dtype", view_dtype},
};

}  // namespace

RuleTable reinterpreting_rules() { return kRules; }

}  // namespace stator
