// src/core/shape/assumed_sizes.cpp: decides predicates with narrower ranges, in a table of their own.
#include "core/shape/assumed_sizes.h"

#include <unordered_map>

namespace stator::shape {
namespace {

thread_local bool assumes_sizes = false, assumes_equal = false;

// Copies expressions, with other ranges for symbols without a value.
class Copy {
 public:
  explicit Copy(const ExprTable& from) : from_(from) {}

  ExprTable& table() { return to_; }

  ExprId of(ExprId id) {
    const Expr& expr = from_[id];
    const auto operands = from_.operands(expr);
    const auto operand = [&](size_t i) { return of(operands[i]); };
    switch (expr.kind) {
      case ExprKind::kConstant:
        return to_.constant(expr.number);
      case ExprKind::kSymbol:
        return symbol(expr);
      case ExprKind::kSum: {
        ExprId sum = to_.constant(expr.number);
        for (size_t i = 0; i < operands.size(); i++)
          sum = to_.add(sum, to_.mul(to_.constant(from_.coefficients(expr)[i]), operand(i)));
        return sum;
      }
      case ExprKind::kProduct:
        return fold(operands, [this](ExprId a, ExprId b) { return to_.mul(a, b); });
      case ExprKind::kMin:
        return fold(operands, [this](ExprId a, ExprId b) { return to_.min(a, b); });
      case ExprKind::kMax:
        return fold(operands, [this](ExprId a, ExprId b) { return to_.max(a, b); });
      case ExprKind::kFloorDiv:
        return to_.floordiv(operand(0), operand(1));
      case ExprKind::kMod:
        return to_.mod(operand(0), operand(1));
      case ExprKind::kEqZero:
        return to_.eq(operand(0), to_.constant(0));
      case ExprKind::kNeZero:
        return to_.ne(operand(0), to_.constant(0));
      case ExprKind::kLeZero:
        return to_.le(operand(0), to_.constant(0));
      case ExprKind::kFits:
      case ExprKind::kUnknown:
        return to_.unknown();
    }
    return to_.unknown();
  }

 private:
  ExprId symbol(const Expr& expr) {
    const auto [found, is_new] = symbols_.try_emplace(expr.number, ExprId{});
    constexpr Range kSizes{2, int64_t{1} << 31};
    if (is_new) found->second = to_.add_symbol(expr.has_hint ? expr.range : kSizes, std::nullopt);
    return found->second;
  }
  template <class Combine>
  ExprId fold(std::span<const ExprId> operands, const Combine& combine) {
    ExprId all = of(operands[0]);
    for (const ExprId each : operands.subspan(1)) all = combine(all, of(each));
    return all;
  }

  const ExprTable& from_;
  ExprTable to_;
  std::unordered_map<int64_t, ExprId> symbols_;
};

}  // namespace

AssumedSizes::AssumedSizes(bool assumes, bool equal) : before_(assumes_sizes), equal_before_(assumes_equal) {
  assumes_sizes = assumes;
  assumes_equal = equal;
}
AssumedSizes::~AssumedSizes() {
  assumes_sizes = before_;
  assumes_equal = equal_before_;
}
bool AssumedSizes::active() { return assumes_sizes; }
bool AssumedSizes::are_equal() { return assumes_equal; }

std::optional<bool> truth_for_sizes(const ExprTable& table, ExprId predicate) {
  Copy copy(table);
  const ExprId known = copy.of(predicate);
  if (!copy.table().is_constant(known)) {
    if (!AssumedSizes::are_equal()) return std::nullopt;
    if (table[predicate].kind == ExprKind::kEqZero) return true;
    if (table[predicate].kind == ExprKind::kLeZero) return false;
    return std::nullopt;
  }
  return copy.table()[known].number != 0;
}

}  // namespace stator::shape
