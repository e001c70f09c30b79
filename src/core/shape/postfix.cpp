// src/core/shape/postfix.cpp: compiling expressions to postfix code and running it.
#include "core/shape/postfix.h"

#include <algorithm>
#include <array>

namespace stator::shape {

size_t Postfix::compile(const ExprTable& exprs, ExprId id) {
  if (code_.size() > longest_) return kDepth + 1;
  const Expr& e = exprs[id];
  const auto operands = exprs.operands(e);
  // All operands of a sum, product, minimum or maximum, folded from the left.
  const auto fold = [&](Op op) {
    size_t depth = 0;
    for (size_t i = 0; i < operands.size(); ++i) {
      depth = std::max(depth, compile(exprs, operands[i]) + (i == 0 ? 0 : 1));
      if (i > 0) code_.push_back({op});
    }
    return depth;
  };
  switch (e.kind) {
    case ExprKind::kConstant:
      code_.push_back({Op::kNumber, e.number});
      return 1;
    case ExprKind::kSymbol:
      code_.push_back({Op::kSymbol, e.number});
      return 1;
    case ExprKind::kSum: {
      code_.push_back({Op::kNumber, e.number});
      size_t depth = 1;
      for (size_t i = 0; i < operands.size(); ++i) {
        depth = std::max(depth, compile(exprs, operands[i]) + 1);
        if (const int64_t coefficient = exprs.coefficients(e)[i]; coefficient != 1) {
          code_.push_back({Op::kNumber, coefficient});
          code_.push_back({Op::kMul});
          depth = std::max<size_t>(depth, 3);
        }
        code_.push_back({Op::kAdd});
      }
      return depth;
    }
    case ExprKind::kProduct:
      return fold(Op::kMul);
    case ExprKind::kMin:
      return fold(Op::kMin);
    case ExprKind::kMax:
      return fold(Op::kMax);
    case ExprKind::kFloorDiv:
      return fold(Op::kFloorDiv);
    case ExprKind::kMod:
      return fold(Op::kMod);
    case ExprKind::kUnknown:
      code_.push_back({Op::kNone});
      return 1;
    case ExprKind::kFits:
    case ExprKind::kEqZero:
    case ExprKind::kNeZero:
    case ExprKind::kLeZero: {
      const size_t depth = compile(exprs, operands[0]);
      code_.push_back({e.kind == ExprKind::kFits     ? Op::kFits
                       : e.kind == ExprKind::kEqZero ? Op::kEqZero
                       : e.kind == ExprKind::kNeZero ? Op::kNeZero
                                                     : Op::kLeZero});
      return depth;
    }
  }
  return 0;
}

size_t Postfix::add(const Context& context, ExprId expr) {
  const size_t start = code_.size();
  longest_ = start + 1024;
  if (compile(context.exprs(), expr) > kDepth) {
    code_.resize(start);
    deep_.push_back({ends_.size(), expr});
    exprs_ = &context.exprs();
  }
  ends_.push_back(code_.size());
  return ends_.size() - 1;
}

std::optional<int64_t> Postfix::evaluate(size_t index, std::span<const int64_t> bindings) const {
  const size_t start = index == 0 ? 0 : ends_[index - 1];
  if (start == ends_[index]) {
    const auto found = std::ranges::find_if(deep_, [&](const Deep& deep) { return deep.index == index; });
    return exprs_->evaluate(found->expr, bindings);
  }
  std::array<int64_t, kDepth> stack;
  size_t top = 0;
  for (size_t at = start; at < ends_[index]; ++at) {
    const Instruction& instruction = code_[at];
    switch (instruction.op) {
      case Op::kNumber:
        stack[top++] = instruction.number;
        continue;
      case Op::kSymbol:
        stack[top++] = bindings[static_cast<size_t>(instruction.number)];
        continue;
      case Op::kNone:
        return std::nullopt;
      case Op::kFits:
        stack[top - 1] = 1;
        continue;
      case Op::kEqZero:
        stack[top - 1] = stack[top - 1] == 0;
        continue;
      case Op::kNeZero:
        stack[top - 1] = stack[top - 1] != 0;
        continue;
      case Op::kLeZero:
        stack[top - 1] = stack[top - 1] <= 0;
        continue;
      default:
        break;
    }
    const int64_t right = stack[--top];
    int64_t& left = stack[top - 1];
    switch (instruction.op) {
      case Op::kAdd:
        if (!exact_add(left, right, &left)) return std::nullopt;
        break;
      case Op::kMul:
        if (!exact_mul(left, right, &left)) return std::nullopt;
        break;
      case Op::kMin:
        left = std::min(left, right);
        break;
      case Op::kMax:
        left = std::max(left, right);
        break;
      case Op::kFloorDiv:
        if (!exact_floordiv(left, right, &left)) return std::nullopt;
        break;
      default:  // kMod
        if (!exact_mod(left, right, &left)) return std::nullopt;
    }
  }
  return stack[0];
}

SymbolChecks::SymbolChecks(const Context& context) : context_(context), reals_(context) {
  for (const Symbol& symbol : context.symbols()) ranges_.push_back(symbol.range);
  for (const SizeGuard& guard : context.guards()) guards_.add(context, guard.predicate);
}

std::optional<size_t> SymbolChecks::first_failure(Bindings& bindings) const {
  const std::span<const double> compared = reals_.run(bindings);
  for (size_t i = 0; i < ranges_.size(); ++i) {
    if (!ranges_[i].contains(bindings.ints[i])) return i;
  }
  for (size_t i = 0; i < guards_.size(); ++i) {
    if (guards_.evaluate(i, bindings.ints).value_or(0) == 0) return ranges_.size() + i;
  }
  const auto real_guards = context_.real_guards();
  for (size_t i = 0; i < real_guards.size(); ++i) {
    if (RealTable::compare(real_guards[i].kind, compared[2 * i], compared[2 * i + 1]) !=
        real_guards[i].expected)
      return ranges_.size() + guards_.size() + i;
  }
  return std::nullopt;
}

}  // namespace stator::shape
