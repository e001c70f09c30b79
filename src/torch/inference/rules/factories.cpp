// src/torch/inference/rules/factories.cpp: operators that make tensors from sizes, and the *_like family.
#include <cmath>

#include "torch/inference/rules/families.h"
#include "torch/inference/rules/pointwise.h"

namespace stator {

namespace {

using c10::ScalarType;

c10::Device device_or_cpu(const Call& call, int argument) {
  if (!call.has(argument)) return c10::Device(c10::kCPU);
  return call.device(argument);
}

ScalarType dtype_or(const Call& call, int argument, ScalarType otherwise) {
  return call.has(argument) ? call.dtype(argument) : otherwise;
}

// Arguments dtype, layout, device, pin_memory stand together from `options` on.
bool plain_options(const Call& call, int options) {
  // A layout of 0 is strided.
  return !call.has(options + 1) || call.integer(options + 1) == 0;
}

bool answer_filled(const Call& call, Answer& answer, const Sizes& sizes, int options, ScalarType dtype) {
  if (!plain_options(call, options)) return false;
  for (const Size& s : sizes) {
    if (s < 0) return false;
  }
  answer.fresh(fresh_meta(sizes, dtype_or(call, options, dtype), device_or_cpu(call, options + 2)));
  return true;
}

// empty(size, *, dtype, layout, device, pin_memory, memory_format)
bool empty(const Call& call, Answer& answer) {
  if (!answer_filled(call, answer, call.sizes(0), 1, default_dtype())) return false;
  if (call.has(5)) {
    TensorMeta& meta = answer.specs.back().meta;
    meta.strides = strides_for(meta.sizes, call.memory_format(5));
  }
  return true;
}

bool sized(const Call& call, Answer& answer) {
  return answer_filled(call, answer, call.sizes(0), 1, default_dtype());
}

// With a generator between size and options.
bool sized_generator(const Call& call, Answer& answer) {
  return answer_filled(call, answer, call.sizes(0), 2, default_dtype());
}

bool empty_strided(const Call& call, Answer& answer) {
  if (!answer_filled(call, answer, call.sizes(0), 2, default_dtype())) return false;
  answer.specs.back().meta.strides = call.sizes(1);
  return true;
}

ScalarType fill_dtype(NumberKind kind) {
  switch (kind) {
    case NumberKind::boolean:
      return ScalarType::Bool;
    case NumberKind::integral:
      return ScalarType::Long;
    case NumberKind::complex:
      return c10::toComplexType(default_dtype());
    case NumberKind::floating:
      return default_dtype();
  }
  return default_dtype();
}

// full(size, value, *, dtype, …)
bool full(const Call& call, Answer& answer) {
  return answer_filled(call, answer, call.sizes(0), 2, fill_dtype(call.number_kind(1)));
}

bool scalar_tensor(const Call& call, Answer& answer) {
  return answer_filled(call, answer, {}, 1, default_dtype());
}

// randint(high, size, …), randint.low(low, high, size, …)
bool randint(const Call& call, Answer& answer) {
  return answer_filled(call, answer, call.sizes(1), 2, ScalarType::Long);
}

bool randint_low(const Call& call, Answer& answer) {
  return answer_filled(call, answer, call.sizes(2), 3, ScalarType::Long);
}

bool randperm(const Call& call, Answer& answer) {
  return answer_filled(call, answer, {call.size(0)}, 1, ScalarType::Long);
}

bool eye(const Call& call, Answer& answer) {
  return answer_filled(call, answer, {call.size(0), call.size(0)}, 1, default_dtype());
}

bool eye_m(const Call& call, Answer& answer) {
  return answer_filled(call, answer, {call.size(0), call.size(1)}, 2, default_dtype());
}

bool answer_range(const Call& call, Answer& answer, int start, int end, int step, int options) {
  const auto integral = [&](int i) { return i < 0 || call.number_kind(i) == NumberKind::integral; };
  const bool integers = integral(start) && integral(end) && integral(step);
  const auto dtype = dtype_or(call, options, integers ? ScalarType::Long : default_dtype());
  if (integers && c10::isIntegralType(dtype, false)) {
    const Size from = start < 0 ? Size(0) : call.size(start), to = call.size(end);
    const Size by = step < 0 ? Size(1) : call.size(step);
    if (by == 0) return false;
    const Size span = by > 0 ? to - from : from - to;
    const Size stride = by > 0 ? by : -by;
    if (span < 0) return false;
    return answer_filled(call, answer, {floordiv(span + stride - 1, stride)}, options, dtype);
  }
  // What is counted in 64-bit integers is cut to them before it is counted.
  const auto number = [&](int i) {
    return dtype == ScalarType::Long ? std::trunc(call.number(i)) : call.number(i);
  };
  const double from = start < 0 ? 0 : number(start), to = number(end), by = step < 0 ? 1 : number(step);
  if (by == 0 || !std::isfinite(from) || !std::isfinite(to) || (by > 0 ? to < from : to > from)) return false;
  return answer_filled(call, answer, {Size(static_cast<int64_t>(std::ceil((to - from) / by)))}, options,
                       dtype);
}

bool arange(const Call& call, Answer& answer) { return answer_range(call, answer, -1, 0, -1, 1); }
bool arange_start(const Call& call, Answer& answer) { return answer_range(call, answer, 0, 1, -1, 2); }
bool arange_step(const Call& call, Answer& answer) { return answer_range(call, answer, 0, 1, 2, 3); }

bool linspace(const Call& call, Answer& answer) {
  const bool complex =
      call.number_kind(0) == NumberKind::complex || call.number_kind(1) == NumberKind::complex;
  return answer_filled(call, answer, {call.size(2)}, 3,
                       complex ? c10::toComplexType(default_dtype()) : default_dtype());
}

bool logspace(const Call& call, Answer& answer) {
  const bool complex =
      call.number_kind(0) == NumberKind::complex || call.number_kind(1) == NumberKind::complex;
  return answer_filled(call, answer, {call.size(2)}, 4,
                       complex ? c10::toComplexType(default_dtype()) : default_dtype());
}

// x_like(self, *, dtype, layout, device, pin_memory, memory_format), options from argument `options` on
bool answer_like(const Call& call, Answer& answer, int options) {
  const TensorMeta& self = call.tensor(0);
  if (!plain_options(call, options)) return false;
  const auto format = call.has(options + 4) ? call.memory_format(options + 4) : c10::MemoryFormat::Preserve;
  TensorMeta meta = fresh_like(self, self.sizes, strides_like(self, format));
  meta.dtype = dtype_or(call, options, self.dtype);
  if (call.has(options + 2)) meta.device = call.device(options + 2);
  answer.fresh(std::move(meta));
  return true;
}

bool like(const Call& call, Answer& answer) { return answer_like(call, answer, 1); }
bool like_second(const Call& call, Answer& answer) { return answer_like(call, answer, 2); }
bool like_third(const Call& call, Answer& answer) { return answer_like(call, answer, 3); }

// new_x(self, size, *, dtype, layout, device, pin_memory)
bool answer_new(const Call& call, Answer& answer, int options) {
  const TensorMeta& self = call.tensor(0);
  if (!plain_options(call, options)) return false;
  const Sizes sizes = call.sizes(1);
  for (const Size& s : sizes) {
    if (s < 0) return false;
  }
  answer.fresh(fresh_meta(sizes, dtype_or(call, options, self.dtype),
                          call.has(options + 2) ? call.device(options + 2) : self.device));
  return true;
}

bool new_sized(const Call& call, Answer& answer) { return answer_new(call, answer, 2); }
bool new_full(const Call& call, Answer& answer) { return answer_new(call, answer, 3); }

bool new_empty_strided(const Call& call, Answer& answer) {
  if (!answer_new(call, answer, 3)) return false;
  answer.specs.back().meta.strides = call.sizes(2);
  return true;
}

// Fills and draws in place: the tensor itself.
bool in_place(const Call& call, Answer& answer) {
  answer.same(0, call.tensor(0));
  return true;
}

bool in_place_floating(const Call& call, Answer& answer) {
  return !is_integral(call.tensor(0).dtype) && in_place(call, answer);
}

bool bernoulli(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  if (is_integral(self.dtype)) return false;
  answer.fresh(fresh_like(self, self.sizes, contiguous_strides(self.sizes)));
  return true;
}

constexpr RuleEntry kRules[] = {
    {"aten::empty.memory_format", empty},
    {"aten::empty_strided", empty_strided},
    {"aten::zeros", sized},
    {"aten::ones", sized},
    {"aten::rand", sized},
    {"aten::randn", sized},
    {"aten::rand.generator", sized_generator},
    {"aten::randn.generator", sized_generator},
    {"aten::full", full},
    {"aten::scalar_tensor", scalar_tensor},
    {"aten::randint", randint},
    {"aten::randint.low", randint_low},
    {"aten::randperm", randperm},
    {"aten::eye", eye},
    {"aten::eye.m", eye_m},
    {"aten::arange", arange},
    {"aten::arange.start", arange_start},
    {"aten::arange.start_step", arange_step},
    {"aten::linspace", linspace},
    {"aten::logspace", logspace},
    {"aten::empty_like", like},
    {"aten::zeros_like", like},
    {"aten::ones_like", like},
    {"aten::rand_like", like},
    {"aten::randn_like", like},
    {"aten::full_like", like_second},
    {"aten::randint_like", like_second},
    {"aten::randint_like.low_dtype", like_third},
    {"aten::new_empty", new_sized},
    {"aten::new_zeros", new_sized},
    {"aten::new_ones", new_sized},
    {"aten::new_full", new_full},
    {"aten::new_empty_strided", new_empty_strided},
    {"aten::fill_.Scalar", in_place},
    {"aten::fill_.Tensor", in_place},
    {"aten::zero_", in_place},
    {"aten::uniform_", in_place_floating},
    {"aten::normal_", in_place_floating},
    {"aten::exponential_", in_place_floating},
    {"aten::cauchy_", in_place_floating},
    {"aten::log_normal_", in_place_floating},
    {"aten::geometric_", in_place},
    {"aten::random_", in_place},
    {"aten::random_.to", in_place},
    {"aten::random_.from", in_place},
    {"aten::bernoulli_.float", in_place},
    {"aten::bernoulli_.Tensor", in_place},
    {"aten::bernoulli", bernoulli},
};

}  // namespace

RuleTable factory_rules() { return kRules; }

}  // namespace stator
