// src/backends/native/boxing.h: arguments of a replayed node: constants ready to use, values filled in at
// each run.
#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <vector>

#include "core/ir/graph.h"
#include "core/shape/postfix.h"

namespace stator::native {

struct ArgumentTemplate {
  enum class Kind : uint8_t { constant, value, list, optional_list, size, sizes, numbers };
  Kind kind = Kind::constant;
  bool wants_tensor = false;  // a number becomes a wrapped number
  uint32_t value = 0;
  c10::IValue constant;
  std::vector<uint32_t> elements;      // of lists; UINT32_MAX: absent, or in `constants`
  std::vector<c10::IValue> constants;  // of lists that hold numbers as well; empty otherwise

  std::vector<int64_t> numbers;     // of sizes, as they are
  std::vector<size_t> expressions;  // of sizes: which expression each is, or kNumber; of a size: one
  static constexpr size_t kNumber = SIZE_MAX;

  c10::IValue fill(const std::vector<c10::IValue>& values, const shape::Postfix& code,
                   const shape::Bindings& bindings) const;
};

// `type` is the argument's type in the schema, nullptr for pseudo-operators. A number where the schema has a
// tensor becomes a wrapped number.
// Expressions are added to `expressions`, which every run evaluates them by.
ArgumentTemplate make_template(const ir::Graph& graph, const ir::Operand& operand, const c10::Type* type,
                               shape::Postfix& expressions);

}  // namespace stator::native
