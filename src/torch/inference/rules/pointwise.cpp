// src/torch/inference/rules/pointwise.cpp: type promotion and TensorIterator's choice of output.
#include "torch/inference/rules/pointwise.h"

#include <c10/core/DefaultDtype.h>

#include <algorithm>

namespace stator {

namespace {

using c10::ScalarType;

ScalarType promote(ScalarType a, ScalarType b) {
  if (a == ScalarType::Undefined) return b;
  if (b == ScalarType::Undefined) return a;
  return c10::promoteTypes(a, b);
}

ScalarType combine(ScalarType higher, ScalarType lower) {
  if (c10::isComplexType(higher)) return higher;
  if (c10::isFloatingType(higher)) return c10::isComplexType(lower) ? c10::toComplexType(higher) : higher;
  if (higher == ScalarType::Bool || c10::isFloatingType(lower) || c10::isComplexType(lower)) {
    return promote(higher, lower);
  }
  return higher != ScalarType::Undefined ? higher : lower;
}

}  // namespace

c10::ScalarType default_dtype() { return c10::get_default_dtype_as_scalartype(); }

c10::ScalarType number_dtype(NumberKind kind) {
  switch (kind) {
    case NumberKind::boolean:
      return ScalarType::Bool;
    case NumberKind::integral:
      return ScalarType::Long;
    case NumberKind::floating:
      return default_dtype();
    case NumberKind::complex:
      return c10::toComplexType(default_dtype());
  }
  return ScalarType::Undefined;
}

bool is_integral(c10::ScalarType dtype) { return c10::isIntegralType(dtype, /*includeBool=*/true); }

c10::ScalarType to_float(c10::ScalarType dtype) { return is_integral(dtype) ? default_dtype() : dtype; }

c10::ScalarType to_real(c10::ScalarType dtype) {
  return c10::isComplexType(dtype) ? c10::toRealValueType(dtype) : dtype;
}

void Promotion::add(const TensorMeta& operand) {
  ScalarType dtype = operand.dtype;
  if (operand.wrapped_number) {
    if (c10::isComplexType(dtype)) {
      dtype = c10::toComplexType(default_dtype());
    } else if (c10::isFloatingType(dtype)) {
      dtype = default_dtype();
    }
  }
  ScalarType& slot = operand.dim() > 0 ? dimensioned_ : operand.wrapped_number ? number_ : scalar_;
  slot = promote(slot, dtype);
}

void Promotion::add_number(NumberKind kind) { number_ = promote(number_, number_dtype(kind)); }

c10::ScalarType Promotion::result() const { return combine(dimensioned_, combine(scalar_, number_)); }

bool operands_device(std::span<const TensorMeta* const> operands, c10::Device& device) {
  bool found = false;
  for (const TensorMeta* operand : operands) {
    const bool cpu_scalar = operand->device.is_cpu() && operand->dim() == 0;
    if (cpu_scalar) continue;
    if (found && operand->device != device) return false;
    device = operand->device;
    found = true;
  }
  if (!found && !operands.empty()) device = operands[0]->device;
  return true;
}

bool answer_result(const Call& call, Answer& answer, TensorMeta meta) {
  for (int i = 0; i < call.count(); ++i) {
    if (!call.written(i)) continue;
    const TensorMeta& target = call.tensor(i);
    if (target.sizes.size() != meta.sizes.size() ||
        !std::equal(target.sizes.begin(), target.sizes.end(), meta.sizes.begin())) {
      return false;
    }
    if (!c10::canCast(meta.dtype, target.dtype) || target.device != meta.device) return false;
    answer.same(i, target);
    return true;
  }
  answer.fresh(std::move(meta));
  return true;
}

TensorMeta converted(const TensorMeta& operand, c10::ScalarType dtype) {
  TensorMeta meta = fresh_like(operand, operand.sizes, preserved_strides(operand));
  meta.dtype = dtype;
  return meta;
}

bool answer_iterated(const Call& call, Answer& answer, std::span<const TensorMeta* const> operands,
                     c10::ScalarType dtype) {
  TensorMeta meta;
  if (!operands_device(operands, meta.device)) return false;
  for (const TensorMeta* operand : operands) {
    if (!broadcast(meta.sizes, operand->sizes)) return false;
  }
  meta.dtype = dtype;
  meta.strides = iterated_strides(meta.sizes, operands);
  return answer_result(call, answer, std::move(meta));
}

namespace {

// What TensorIterator computes in: the operands' type, or a floating one where the result is such.
ScalarType computing_dtype(std::span<const TensorMeta* const> operands, ScalarType result) {
  Promotion promotion;
  for (const TensorMeta* operand : operands) promotion.add(*operand);
  const ScalarType own = promotion.result();
  return is_integral(own) && c10::isFloatingType(result) ? result : own;
}

}  // namespace

bool answer_pointwise(const Call& call, Answer& answer, std::span<const TensorMeta* const> operands,
                      c10::ScalarType dtype) {
  const ScalarType computed = computing_dtype(operands, dtype);
  const auto is_converted = [&](const TensorMeta* operand) {
    return operand->dtype != computed && operand->dim() > 0 && operand->device.is_cpu();
  };
  if (std::ranges::none_of(operands, is_converted)) return answer_iterated(call, answer, operands, dtype);
  // On the CPU TensorIterator makes dense copies of operands of other types before it looks at strides.
  c10::SmallVector<const TensorMeta*, 4> pointers(operands.begin(), operands.end());
  c10::SmallVector<TensorMeta, 4> copies;
  copies.reserve(operands.size());
  for (const TensorMeta*& operand : pointers) {
    if (!is_converted(operand)) continue;
    copies.push_back(converted(*operand, computed));
    operand = &copies.back();
  }
  return answer_iterated(call, answer, std::span<const TensorMeta* const>(pointers.data(), pointers.size()),
                         dtype);
}

bool answer_pointwise(const Call& call, Answer& answer, std::initializer_list<int> operands,
                      c10::ScalarType dtype) {
  c10::SmallVector<const TensorMeta*, 4> metas;
  for (int i : operands) metas.push_back(&call.tensor(i));
  return answer_pointwise(call, answer, std::span<const TensorMeta* const>(metas.data(), metas.size()),
                          dtype);
}

}  // namespace stator
