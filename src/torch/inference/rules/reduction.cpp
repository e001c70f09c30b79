// src/torch/inference/rules/reduction.cpp: operators that fold dimensions away, and scans along one.
#include "torch/inference/rules/families.h"
#include "torch/inference/rules/pointwise.h"

namespace stator {

namespace {

using c10::ScalarType;

// The result without the reduced dimensions, or with 1 in their place. An empty list means all of them.
bool reduced(const TensorMeta& self, const Sizes& dims, bool keep, Sizes& sizes) {
  uint64_t folded = dims.empty() ? ~uint64_t{0} : 0;
  for (const Size& d : dims) {
    int64_t dim = d.specialize();
    if (!wrap_dim(dim, self.dim()) || (folded >> dim & 1)) return false;
    folded |= uint64_t{1} << dim;
  }
  sizes.clear();
  for (int64_t i = 0; i < self.dim(); ++i) {
    if (!(folded >> i & 1)) {
      sizes.push_back(self.sizes[i]);
    } else if (keep) {
      sizes.push_back(1);
    }
  }
  return true;
}

bool answer_reduction(const Call& call, Answer& answer, const Sizes& dims, bool keep, ScalarType dtype) {
  const TensorMeta& self = call.tensor(0);
  Sizes sizes;
  return reduced(self, dims, keep, sizes) &&
         answer_result(call, answer, fresh_meta(sizes, dtype, self.device));
}

ScalarType sum_dtype(const Call& call, int argument) {
  if (call.has(argument) && !call.written(argument)) return call.dtype(argument);
  const auto dtype = call.tensor(0).dtype;
  return is_integral(dtype) ? ScalarType::Long : dtype;
}

// sum(self, *, dtype), sum.dim_IntList(self, dim, keepdim, *, dtype)
bool sum_all(const Call& call, Answer& answer) {
  return answer_reduction(call, answer, {}, false, sum_dtype(call, 1));
}

bool sum_dims(const Call& call, Answer& answer) {
  const Sizes dims = call.has(1) ? call.sizes(1) : Sizes{};
  return answer_reduction(call, answer, dims, call.boolean(2), sum_dtype(call, 3));
}

bool mean_all(const Call& call, Answer& answer) {
  const auto dtype = call.has(1) ? call.dtype(1) : call.tensor(0).dtype;
  return !is_integral(dtype) && answer_reduction(call, answer, {}, false, dtype);
}

bool mean_dims(const Call& call, Answer& answer) {
  const auto dtype = call.has(3) && !call.written(3) ? call.dtype(3) : call.tensor(0).dtype;
  const Sizes dims = call.has(1) ? call.sizes(1) : Sizes{};
  return !is_integral(dtype) && answer_reduction(call, answer, dims, call.boolean(2), dtype);
}

// Reductions over nothing need an identity that these do not have.
bool has_elements(const Call& call) { return !(numel(call.tensor(0)) == 0); }

bool extremum_dims(const Call& call, Answer& answer) {
  const auto dtype = call.tensor(0).dtype;
  if (c10::isComplexType(dtype) || !has_elements(call)) return false;
  return answer_reduction(call, answer, call.sizes(1), call.boolean(2), dtype);
}

bool extremum_all(const Call& call, Answer& answer) {
  const auto dtype = call.tensor(0).dtype;
  return !c10::isComplexType(dtype) && has_elements(call) && answer_reduction(call, answer, {}, false, dtype);
}

// Values and indices along one dimension.
bool with_indices(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  if (c10::isComplexType(self.dtype) || call.count() > 3 || !has_elements(call)) return false;
  Sizes sizes;
  if (!reduced(self, {call.size(1)}, call.boolean(2), sizes)) return false;
  answer.fresh(fresh_meta(sizes, self.dtype, self.device));
  answer.fresh(fresh_meta(sizes, ScalarType::Long, self.device));
  return true;
}

// argmax(self, dim, keepdim)
bool position(const Call& call, Answer& answer) {
  if (c10::isComplexType(call.tensor(0).dtype) || !has_elements(call)) return false;
  if (call.tensor(0).dtype == ScalarType::Bool) return false;
  if (!call.has(1)) {
    Sizes sizes(call.boolean(2) ? call.tensor(0).sizes.size() : 0, Size(1));
    return answer_result(call, answer, fresh_meta(sizes, ScalarType::Long, call.tensor(0).device));
  }
  return answer_reduction(call, answer, {call.size(1)}, call.boolean(2), ScalarType::Long);
}

ScalarType truth_dtype(const Call& call) {
  return call.tensor(0).dtype == ScalarType::Byte ? ScalarType::Byte : ScalarType::Bool;
}

bool truth_all(const Call& call, Answer& answer) {
  return answer_reduction(call, answer, {}, false, truth_dtype(call));
}

bool truth_dim(const Call& call, Answer& answer) {
  return answer_reduction(call, answer, {call.size(1)}, call.boolean(2), truth_dtype(call));
}

bool truth_dims(const Call& call, Answer& answer) {
  if (call.has(1) && call.sizes(1).empty()) return false;
  const Sizes dims = call.has(1) ? call.sizes(1) : Sizes{};
  return answer_reduction(call, answer, dims, call.boolean(2), truth_dtype(call));
}

bool product_all(const Call& call, Answer& answer) {
  return answer_reduction(call, answer, {}, false, sum_dtype(call, 1));
}

bool product_dim(const Call& call, Answer& answer) {
  return answer_reduction(call, answer, {call.size(1)}, call.boolean(2), sum_dtype(call, 3));
}

// var.correction(self, dim, *, correction, keepdim) and its kin
bool variance(const Call& call, Answer& answer) {
  const auto dtype = call.tensor(0).dtype;
  if (is_integral(dtype)) return false;
  const Sizes dims = call.has(1) ? call.sizes(1) : Sizes{};
  return answer_reduction(call, answer, dims, call.boolean(3), to_real(dtype));
}

bool variance_and_mean(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  if (is_integral(self.dtype)) return false;
  Sizes sizes;
  if (!reduced(self, call.has(1) ? call.sizes(1) : Sizes{}, call.boolean(3), sizes)) return false;
  answer.fresh(fresh_meta(sizes, to_real(self.dtype), self.device));
  answer.fresh(fresh_meta(sizes, self.dtype, self.device));
  return true;
}

bool logsumexp(const Call& call, Answer& answer) {
  const auto dtype = call.tensor(0).dtype;
  return answer_reduction(call, answer, call.sizes(1), call.boolean(2), to_float(dtype));
}

// linalg_vector_norm(self, ord, dim, keepdim, *, dtype)
bool vector_norm(const Call& call, Answer& answer) {
  const auto dtype = call.has(4) && !call.written(4) ? call.dtype(4) : call.tensor(0).dtype;
  if (is_integral(dtype) || is_integral(call.tensor(0).dtype) || !has_elements(call)) return false;
  const Sizes dims = call.has(2) ? call.sizes(2) : Sizes{};
  return answer_reduction(call, answer, dims, call.boolean(3), to_real(dtype));
}

bool count_nonzero(const Call& call, Answer& answer) {
  const Sizes dims = call.has(1) ? call.sizes(1) : Sizes{};
  return answer_reduction(call, answer, dims, false, ScalarType::Long);
}

bool trace(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  if (self.dim() != 2) return false;
  answer.fresh(fresh_meta({}, is_integral(self.dtype) ? ScalarType::Long : self.dtype, self.device));
  return true;
}

bool median_all(const Call& call, Answer& answer) { return extremum_all(call, answer); }

// cumsum(self, dim, *, dtype)
bool scan(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  int64_t dim = call.integer(1);
  if (!wrap_dim(dim, self.dim())) return false;
  if (call.written(0)) return answer.same(0, self), true;
  // Copied to the result's dtype first, then scanned into a contiguous result.
  return answer_result(call, answer, fresh_meta(self.sizes, sum_dtype(call, 2), self.device));
}

bool scan_floating(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  int64_t dim = call.integer(1);
  if (!wrap_dim(dim, self.dim())) return false;
  return answer_result(call, answer, fresh_meta(self.sizes, to_float(self.dtype), self.device));
}

// kthvalue(self, k, dim, keepdim)
bool kth_value(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  int64_t dim = call.integer(2);
  if (c10::isComplexType(self.dtype) || self.dim() == 0 || !has_elements(call) || !wrap_dim(dim, self.dim()))
    return false;
  const Size k = call.size(1);
  if (k < Size(1) || k > self.sizes[dim]) return false;
  Sizes sizes;
  if (!reduced(self, {Size(dim)}, call.boolean(3), sizes)) return false;
  answer.fresh(fresh_meta(sizes, self.dtype, self.device));
  answer.fresh(fresh_meta(sizes, ScalarType::Long, self.device));
  return true;
}

// cummax(self, dim): values and indices.
bool extremum_scan(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  int64_t dim = call.integer(1);
  if (c10::isComplexType(self.dtype) || !wrap_dim(dim, self.dim())) return false;
  answer.fresh(fresh_meta(self.sizes, self.dtype, self.device));
  answer.fresh(fresh_meta(self.sizes, ScalarType::Long, self.device));
  return true;
}

// norm.ScalarOpt_dim(self, p, dim, keepdim)
bool norm(const Call& call, Answer& answer) {
  const auto dtype = call.tensor(0).dtype;
  if (!c10::isFloatingType(dtype) || !has_elements(call)) return false;
  return answer_reduction(call, answer, call.sizes(2), call.boolean(3), dtype);
}

// What a loss makes of one number a sample: these, or their mean or sum.
constexpr int64_t kNoReduction = 0;

// nll_loss_forward(self, target, weight, reduction, ignore_index)
bool nll_loss(const Call& call, Answer& answer) {
  const TensorMeta &self = call.tensor(0), &target = call.tensor(1);
  if (!c10::isFloatingType(self.dtype) || self.dim() < 1 || self.dim() > 2 || target.dim() != self.dim() - 1)
    return false;
  if (target.dtype != ScalarType::Long || (target.dim() == 1 && !(target.sizes[0] == self.sizes[0])))
    return false;
  if (call.has(2) && (call.tensor(2).dim() != 1 || !(call.tensor(2).sizes[0] == self.sizes[self.dim() - 1])))
    return false;
  const bool each = call.integer(3) == kNoReduction;
  answer.fresh(fresh_meta(each ? target.sizes : Sizes{}, self.dtype, self.device));
  answer.fresh(fresh_meta({}, self.dtype, self.device));
  return true;
}

// multi_margin_loss(self, target, p, margin, weight, reduction)
bool multi_margin_loss(const Call& call, Answer& answer) {
  const TensorMeta &self = call.tensor(0), &target = call.tensor(1);
  if (!c10::isFloatingType(self.dtype) || self.dim() != 2 || target.dim() != 1 || call.has(4)) return false;
  if (target.dtype != ScalarType::Long || !(target.sizes[0] == self.sizes[0]) || !has_elements(call))
    return false;
  const bool each = call.integer(5) == kNoReduction;
  answer.fresh(fresh_meta(each ? target.sizes : Sizes{}, self.dtype, self.device));
  return true;
}

constexpr RuleEntry kRules[] = {
    {"aten::kthvalue", kth_value},
    {"aten::cummax", extremum_scan},
    {"aten::cummin", extremum_scan},
    {"aten::norm.ScalarOpt_dim", norm},
    {"aten::nll_loss_forward", nll_loss},
    {"aten::multi_margin_loss", multi_margin_loss},
    {"aten::sum", sum_all},
    {"aten::sum.dim_IntList", sum_dims},
    {"aten::sum.IntList_out", sum_dims},
    {"aten::nansum", sum_dims},
    {"aten::mean", mean_all},
    {"aten::mean.dim", mean_dims},
    {"aten::mean.out", mean_dims},
    {"aten::amax", extremum_dims},
    {"aten::amin", extremum_dims},
    {"aten::max", extremum_all},
    {"aten::min", extremum_all},
    {"aten::median", median_all},
    {"aten::nanmedian", median_all},
    {"aten::max.dim", with_indices},
    {"aten::min.dim", with_indices},
    {"aten::median.dim", with_indices},
    {"aten::nanmedian.dim", with_indices},
    {"aten::mode", with_indices},
    {"aten::argmax", position},
    {"aten::argmin", position},
    {"aten::any", truth_all},
    {"aten::all", truth_all},
    {"aten::any.dim", truth_dim},
    {"aten::all.dim", truth_dim},
    {"aten::any.dims", truth_dims},
    {"aten::all.dims", truth_dims},
    {"aten::prod", product_all},
    {"aten::prod.dim_int", product_dim},
    {"aten::var.correction", variance},
    {"aten::std.correction", variance},
    {"aten::var_mean.correction", variance_and_mean},
    {"aten::std_mean.correction", variance_and_mean},
    {"aten::logsumexp", logsumexp},
    {"aten::linalg_vector_norm", vector_norm},
    {"aten::count_nonzero", count_nonzero},
    {"aten::count_nonzero.dim_IntList", count_nonzero},
    {"aten::trace", trace},
    {"aten::cumsum", scan},
    {"aten::cumsum_", scan},
    {"aten::cumprod", scan},
    {"aten::cumprod_", scan},
    {"aten::logcumsumexp", scan_floating},
};

}  // namespace

RuleTable reduction_rules() { return kRules; }

}  // namespace stator
