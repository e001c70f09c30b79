// src/torch/operators/boxed_call.h: the arguments of a boxed operator call, as shape rules see them.
#pragma once

#include <ATen/core/ivalue.h>

#include <span>

#include "torch/inference/rules/rule.h"
#include "torch/operators/operator_info.h"

namespace stator {

class BoxedCall final : public Call {
 public:
  // `materialized`: lazily conjugated and negated tensors are seen as the copies that torch makes of them.
  BoxedCall(const OperatorInfo& info, std::span<const c10::IValue> arguments, bool materialized = false);

  bool none(int i) const override { return arguments_[i].isNone(); }
  const TensorMeta& tensor(int i) const override { return metas_[i].at(0); }
  const std::vector<TensorMeta>& tensors(int i) const override { return metas_[i]; }
  std::vector<const TensorMeta*> optional_tensors(int i) const override;
  Size size(int i) const override;
  int64_t integer(int i) const override;
  Sizes sizes(int i) const override;
  bool boolean(int i) const override { return arguments_[i].toBool(); }
  double number(int i) const override;
  std::vector<double> numbers(int i) const override;
  NumberKind number_kind(int i) const override;
  std::string_view text(int i) const override { return arguments_[i].toStringView(); }
  c10::ScalarType dtype(int i) const override { return arguments_[i].toScalarType(); }
  c10::Device device(int i) const override { return arguments_[i].toDevice(); }
  c10::MemoryFormat memory_format(int i) const override { return arguments_[i].toMemoryFormat(); }
  bool requires_grad(int i) const override;
  int count() const override { return static_cast<int>(arguments_.size()); }
  bool written(int i) const override { return (info_.written >> i & 1) != 0; }

 private:
  const OperatorInfo& info_;
  std::span<const c10::IValue> arguments_;
  std::vector<std::vector<TensorMeta>> metas_;
  std::vector<std::vector<bool>> present_;
};

}  // namespace stator
