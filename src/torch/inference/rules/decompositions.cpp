// src/torch/inference/rules/decompositions.cpp: matrices as products of others.
#include "torch/inference/rules/families.h"
#include "torch/inference/rules/pointwise.h"

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
  if (is_integral(self.dtype)) return false;
  const auto dtype = c10::toComplexType(self.dtype);
  Sizes values = self.sizes;
  values.pop_back();
  answer.fresh(fresh_meta(values, dtype, self.device));
  TensorMeta vectors = fresh_meta(self.sizes, dtype, self.device);
  vectors.strides = column_strides(self.sizes);
  answer.fresh(std::move(vectors));
  return true;
}

// linalg_lu_solve(LU, pivots, B, *, left, adjoint): complex matrices are solved conjugated from the right,
// and the result keeps the conjugation lazily. torch's own meta kernel knows the other cases.
bool lu_solve(const Call& call, Answer& answer) {
  const TensorMeta &lu = call.tensor(0), &b = call.tensor(2);
  if (!c10::isComplexType(b.dtype) || call.boolean(3)) return false;
  if (lu.dim() < 2 || b.dim() < 2 || !(lu.sizes[lu.dim() - 1] == b.sizes[b.dim() - 1])) return false;
  Sizes batch(b.sizes.begin(), b.sizes.end() - 2);
  if (!broadcast(batch, Sizes(lu.sizes.begin(), lu.sizes.end() - 2))) return false;
  batch.append(b.sizes.end() - 2, b.sizes.end());
  answer.fresh(fresh_meta(batch, b.dtype, b.device));
  answer.specs.back().meta.conj = !(numel(answer.specs.back().meta) == 0);
  return true;
}

bool is_square(const TensorMeta& self) {
  const int64_t rank = self.dim();
  return rank >= 2 && self.device.is_cpu() && self.sizes[rank - 1] == self.sizes[rank - 2] &&
         (self.dtype == c10::kFloat || self.dtype == c10::kDouble);
}

Sizes without_last(const TensorMeta& self, size_t count) {
  return {self.sizes.begin(), self.sizes.end() - static_cast<int64_t>(count)};
}

// Like the matrices, as LAPACK leaves them.
TensorMeta columns_like(const TensorMeta& self) {
  return fresh_like(self, self.sizes, column_strides(self.sizes));
}

// linalg_inv_ex(A, check_errors), linalg_cholesky_ex(self, upper, check_errors): the matrices and whether it
// went well.
bool matrix_and_info(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  if (!is_square(self)) return false;
  answer.fresh(columns_like(self));
  answer.fresh(fresh_meta(without_last(self, 2), c10::kInt, self.device));
  return true;
}

// _linalg_eigh(A, UPLO, compute_v)
bool symmetric_eigen(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  if (!is_square(self)) return false;
  answer.fresh(fresh_meta(without_last(self, 1), self.dtype, self.device));
  answer.fresh(call.boolean(2) ? columns_like(self) : fresh_meta({0}, self.dtype, self.device));
  return true;
}

// _linalg_det(A): the determinant and the factors that it comes of; _linalg_slogdet: its sign and logarithm.
template <int kNumbers>
bool determinant(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  if (!is_square(self)) return false;
  for (int i = 0; i < kNumbers; i++) answer.fresh(fresh_meta(without_last(self, 2), self.dtype, self.device));
  answer.fresh(columns_like(self));
  answer.fresh(fresh_meta(without_last(self, 1), c10::kInt, self.device));
  return true;
}

// _linalg_check_errors(info, api_name, *, is_matrix)
bool nothing(const Call&, Answer&) { return true; }

constexpr RuleEntry kRules[] = {
    {"aten::linalg_inv_ex", matrix_and_info},
    {"aten::linalg_cholesky_ex", matrix_and_info},
    {"aten::_linalg_eigh", symmetric_eigen},
    {"aten::_linalg_det", determinant<1>},
    {"aten::_linalg_slogdet", determinant<2>},
    {"aten::_linalg_check_errors", nothing},
    {"aten::linalg_eig", eigen},
    {"aten::linalg_lu_solve", lu_solve},
};

}  // namespace

RuleTable decomposition_rules() { return kRules; }

}  // namespace stator
