// src/torch/inference/rules/pointwise.h: type promotion and the outputs of element-wise operators.
#pragma once

#include <initializer_list>

#include "torch/inference/rules/layout.h"

namespace stator {

// The dtype torch computes in for these operands: dimensioned tensors first, then 0-dim ones, then numbers.
class Promotion {
 public:
  void add(const TensorMeta& operand);
  void add_number(NumberKind kind);
  c10::ScalarType result() const;

 private:
  c10::ScalarType dimensioned_ = c10::ScalarType::Undefined;
  c10::ScalarType scalar_ = c10::ScalarType::Undefined;
  c10::ScalarType number_ = c10::ScalarType::Undefined;
};

c10::ScalarType default_dtype();
c10::ScalarType number_dtype(NumberKind kind);    // of a Python number
bool is_integral(c10::ScalarType dtype);          // bool included
c10::ScalarType to_float(c10::ScalarType dtype);  // integral ones become the default dtype
c10::ScalarType to_real(c10::ScalarType dtype);   // complex ones become their part's

// The device of the operands: that of the first which is no CPU scalar. False if two disagree.
bool operands_device(std::span<const TensorMeta* const> operands, c10::Device& device);

// Answers with the broadcast of the operands, which are converted to a common type, laid out as
// TensorIterator would. An in-place or out= form answers with the argument that is written, if the result
// fits into it as it is.
bool answer_pointwise(const Call& call, Answer& answer, std::span<const TensorMeta* const> operands,
                      c10::ScalarType dtype);
bool answer_pointwise(const Call& call, Answer& answer, std::initializer_list<int> operands,
                      c10::ScalarType dtype);

// The same for operands that are not converted to a common type.
bool answer_iterated(const Call& call, Answer& answer, std::span<const TensorMeta* const> operands,
                     c10::ScalarType dtype);

// The operand as `to(dtype)` copies it: dense, its dimensions in the same order.
TensorMeta converted(const TensorMeta& operand, c10::ScalarType dtype);

// A fresh output, or the written argument of an in-place or out= form.
bool answer_result(const Call& call, Answer& answer, TensorMeta meta);

}  // namespace stator
