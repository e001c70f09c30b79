// src/torch/operators/boxed_call.cpp: reads boxed arguments.
#include "torch/operators/boxed_call.h"

#include "torch/inference/rules/layout.h"
#include "torch/operators/tensors_in.h"
#include "torch/symbols/sym_node.h"
#include "torch/tracing/tracer.h"

namespace stator {

BoxedCall::BoxedCall(const OperatorInfo& info, std::span<const c10::IValue> arguments, bool materialized)
    : info_(info), arguments_(arguments), metas_(arguments.size()), present_(arguments.size()) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!(info.tensors >> i & 1)) continue;
    for_each_tensor(arguments[i], [&](const at::Tensor& tensor) {
      present_[i].push_back(tensor.defined());
      metas_[i].push_back(tensor.defined() ? meta_of(tensor) : TensorMeta{});
      TensorMeta& meta = metas_[i].back();
      if (materialized && (meta.conj || meta.neg))
        meta = fresh_like(meta, meta.sizes, preserved_strides(meta));
    });
  }
}

bool BoxedCall::requires_grad(int i) const {
  bool any = false;
  for_each_tensor(arguments_[i], [&](const at::Tensor& t) { any |= t.defined() && t.requires_grad(); });
  return any;
}

std::vector<const TensorMeta*> BoxedCall::optional_tensors(int i) const {
  std::vector<const TensorMeta*> result;
  for (size_t j = 0; j < metas_[i].size(); ++j) result.push_back(present_[i][j] ? &metas_[i][j] : nullptr);
  return result;
}

Size BoxedCall::size(int i) const {
  const auto& value = arguments_[i];
  return value.isSymInt() ? to_size(value.toSymInt()) : Size(value.toInt());
}

int64_t BoxedCall::integer(int i) const { return size(i).specialize(); }

Sizes BoxedCall::sizes(int i) const {
  const auto& value = arguments_[i];
  Sizes result;
  if (value.isInt() || value.isSymInt()) {
    result.push_back(size(i));
  } else if (value.isIntList()) {
    for (int64_t n : value.toIntList()) result.push_back(n);
  } else {
    for (const c10::IValue& element : value.toListRef()) {
      if (element.isBool()) {
        result.push_back(Size(element.toBool() ? 1 : 0));
      } else {
        result.push_back(element.isSymInt() ? to_size(element.toSymInt()) : Size(element.toInt()));
      }
    }
  }
  return result;
}

double BoxedCall::number(int i) const {
  const auto& value = arguments_[i];
  if (const auto number = to_number(value)) return number->specialize();
  return value.toScalar().toDouble();
}

std::vector<double> BoxedCall::numbers(int i) const { return arguments_[i].toDoubleVector(); }

NumberKind BoxedCall::number_kind(int i) const {
  const auto& value = arguments_[i];
  if (value.isComplexDouble()) return NumberKind::complex;
  if (value.isDouble() || value.isSymFloat()) return NumberKind::floating;
  if (value.isBool() || value.isSymBool()) return NumberKind::boolean;
  return NumberKind::integral;
}

}  // namespace stator
