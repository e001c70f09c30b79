// src/backends/native/boxing.h: arguments of a replayed node: constants ready to use, values filled in at
// each run.
#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <vector>

#include "core/ir/graph.h"

namespace stator::native {

struct ArgumentTemplate {
  enum class Kind : uint8_t { constant, value, list, optional_list };
  Kind kind = Kind::constant;
  uint32_t value = 0;
  c10::IValue constant;
  std::vector<uint32_t> elements;      // of lists; UINT32_MAX: absent, or in `constants`
  std::vector<c10::IValue> constants;  // of lists that hold numbers as well; empty otherwise

  c10::IValue fill(const std::vector<c10::IValue>& values) const;
};

// `type` is the argument's type in the schema, nullptr for pseudo-operators. A number where the schema has a
// tensor becomes a wrapped number.
ArgumentTemplate make_template(const ir::Graph& graph, const ir::Operand& operand, const c10::Type* type);

}  // namespace stator::native
