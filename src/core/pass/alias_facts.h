// src/core/pass/alias_facts.h: what a pass must know of alias sets before it may merge or fold their values.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ir/graph.h"

namespace stator::pass {

// Facts of a whole alias set (Value::storage), over the whole graph. Conservative: a node of unknown effect
// is taken to write all its arguments and, as it may reach any object the program holds, all inputs.
class AliasFacts {
 public:
  explicit AliasFacts(const ir::Graph& graph);

  bool is_written(ir::ValueId id) const { return has(id, kWritten); }
  bool is_output(ir::ValueId id) const { return has(id, kOutput); }
  bool needs_gradient(ir::ValueId id) const { return has(id, kGradient); }

  // Nobody can tell this value from another tensor with the same contents.
  bool is_interchangeable(ir::ValueId id) const { return !has(id, kWritten | kOutput | kGradient); }

 private:
  enum Fact : uint8_t { kWritten = 1, kOutput = 2, kGradient = 4 };

  bool has(ir::ValueId id, int facts) const { return (facts_[index(graph_.value(id).storage)] & facts) != 0; }
  void mark(ir::ValueId id, Fact fact) { facts_[index(graph_.value(id).storage)] |= fact; }

  const ir::Graph& graph_;
  std::vector<uint8_t> facts_;  // by storage
};

}  // namespace stator::pass
