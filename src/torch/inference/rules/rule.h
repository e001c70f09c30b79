// src/torch/inference/rules/rule.h: how a shape rule sees an operator call, and how it answers.
#pragma once

#include <c10/core/MemoryFormat.h>

#include <optional>
#include <string_view>

#include "torch/inference/tensor_meta.h"

namespace stator {

enum class NumberKind : uint8_t { boolean, integral, floating, complex };

// The arguments of one call by position in the schema. Which accessor fits is known from the schema.
class Call {
 public:
  virtual bool none(int i) const = 0;
  virtual const TensorMeta& tensor(int i) const = 0;
  virtual const std::vector<TensorMeta>& tensors(int i) const = 0;
  virtual std::vector<const TensorMeta*> optional_tensors(int i) const = 0;  // nullptr where None
  virtual Size size(int i) const = 0;
  virtual int64_t integer(int i) const = 0;
  virtual Sizes sizes(int i) const = 0;  // a single int where a list is wanted gives one element
  virtual bool boolean(int i) const = 0;
  virtual double number(int i) const = 0;  // a float, or a Scalar of any real kind
  virtual std::vector<double> numbers(int i) const = 0;
  virtual NumberKind number_kind(int i) const = 0;
  virtual std::string_view text(int i) const = 0;
  virtual c10::ScalarType dtype(int i) const = 0;
  virtual c10::Device device(int i) const = 0;
  virtual c10::MemoryFormat memory_format(int i) const = 0;
  virtual bool requires_grad(int i) const = 0;  // any tensor of the argument
  virtual int count() const = 0;
  // Of the operator: for rules that serve in-place and out= forms alike.
  virtual bool written(int i) const = 0;

  bool has(int i) const { return i < count() && !none(i); }

 protected:
  ~Call() = default;
};

// What a rule says. A rule that returns false says nothing, and the next source of shapes is asked: that is
// also how a rule treats arguments which the operator would refuse, so that torch's own words reach the user.
class Answer {
 public:
  void fresh(TensorMeta meta) {
    specs.push_back({OutputSpec::Kind::fresh, -1, 0, false, false, std::move(meta)});
  }
  void same(int argument, TensorMeta meta, int element = 0) {
    specs.push_back(
        {OutputSpec::Kind::same, static_cast<int16_t>(argument), element, false, false, std::move(meta)});
  }
  void view(int argument, TensorMeta meta, int element = 0) {
    specs.push_back(
        {OutputSpec::Kind::view, static_cast<int16_t>(argument), element, false, false, std::move(meta)});
  }
  void undefined() { specs.push_back({OutputSpec::Kind::undefined, -1, 0, false, false, {}}); }

  // All tensors of all returns in order. An operator with a list among its returns has that one return only.
  std::vector<OutputSpec> specs;
};

using Rule = bool (*)(const Call& call, Answer& answer);

// By full name with overload, nullptr if there is none.
Rule find_rule(std::string_view name);

}  // namespace stator
