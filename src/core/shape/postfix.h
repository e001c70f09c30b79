// src/core/shape/postfix.h: expressions as postfix code, for what is computed on every call.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/shape/context.h"
#include "core/shape/real_code.h"

namespace stator::shape {

// Several expressions in one array. Evaluating one walks its code once over a small stack: no recursion, no
// allocation.
class Postfix {
 public:
  // The number of the expression.
  size_t add(const Context& context, ExprId expr);
  size_t size() const { return ends_.size(); }
  // nullopt: as ExprTable::evaluate.
  std::optional<int64_t> evaluate(size_t index, std::span<const int64_t> bindings) const;

 private:
  enum class Op : uint8_t {
    kNumber,
    kSymbol,
    kAdd,
    kMul,
    kFloorDiv,
    kMod,
    kMin,
    kMax,
    kNone,
    kFits,
    kEqZero,
    kNeZero,
    kLeZero
  };
  struct Instruction {
    Op op;
    int64_t number = 0;  // kNumber; kSymbol: its index
  };
  // Deeper or longer expressions than programs write are kept whole and evaluated by the table.
  static constexpr size_t kDepth = 32;

  size_t compile(const ExprTable& exprs, ExprId id);  // returns the depth of stack that it needs

  std::vector<Instruction> code_;
  size_t longest_ = 0;  // where the code of the expression that is being added must end
  std::vector<size_t> ends_;
  struct Deep {
    size_t index;
    ExprId expr;
  };
  std::vector<Deep> deep_;
  const ExprTable* exprs_ = nullptr;
};

// The ranges and guards of a context, ready to be checked by every call. Numbered as Context::check_text
// numbers them.
class SymbolChecks {
 public:
  // The context outlives it.
  explicit SymbolChecks(const Context& context);
  // Adds to the bindings what symbols there are that follow from others.
  std::optional<size_t> first_failure(Bindings& bindings) const;

 private:
  const Context& context_;
  std::vector<Range> ranges_;
  Postfix guards_;
  RealCode reals_;
};

}  // namespace stator::shape
