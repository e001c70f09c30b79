// src/torch/shape_rules/decompositions.cpp: matrices as products of others.
#include "torch/shape_rules/families.h"
#include "torch/shape_rules/pointwise.h"

namespace stator {

namespace {

// Batches of matrices that LAPACK wrote column by column.
Sizes column_strides(const Sizes& sizes) {
  Sizes strides = contiguous_strides(sizes);
  const size_t rank = sizes.size();
  strides[rank - 2] = 1;
  strides[rank - 1] = max(sizes[rank - 2], Size(1));
  return strides;
}

// linalg_eig(self): eigenvalues and eigenvectors, always complex.
bool eigen(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  const int64_t rank = self.dim();
  if (rank < 2 || !(self.sizes[rank - 1] == self.sizes[rank - 2]) || !self.device.is_cpu()) return false;
  if (is_integral(self.dtype) || numel(self) == 0) return false;
  const auto dtype = c10::toComplexType(self.dtype);
  Sizes values = self.sizes;
  values.pop_back();
  answer.fresh(fresh_meta(values, dtype, self.device));
  TensorMeta vectors = fresh_meta(self.sizes, dtype, self.device);
  vectors.strides = column_strides(self.sizes);
  answer.fresh(std::move(vectors));
  return true;
}

constexpr RuleEntry kRules[] = {
    {"aten::linalg_eig", eigen},
};

}  // namespace

RuleTable decomposition_rules() { return kRules; }

}  // namespace stator
