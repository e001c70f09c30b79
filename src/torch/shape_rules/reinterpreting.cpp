// src/torch/shape_rules/reinterpreting.cpp: views of a whole tensor: aliases, and complex numbers as pairs.
#include "torch/shape_rules/families.h"
#include "torch/shape_rules/pointwise.h"
#include "torch/shape_rules/views.h"

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

constexpr RuleEntry kRules[] = {
    {"aten::alias", whole},
    {"aten::detach", whole},
    {"aten::detach_", whole},
    {"aten::view_as_real", view_as_real},
    {"aten::view_as_complex", view_as_complex},
};

}  // namespace

RuleTable reinterpreting_rules() { return kRules; }

}  // namespace stator
