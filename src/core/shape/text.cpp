// src/core/shape/text.cpp: printing expressions with few parentheses.
#include "core/shape/text.h"

#include <charconv>

namespace stator::shape {
namespace {

// Binding strength of what is printed, as in Python.
enum Strength { kComparison, kSum, kProduct, kAtom };

class Printer {
 public:
  Printer(const Context& context, SymbolText symbols, std::string* out)
      : context_(context), exprs_(context.exprs()), symbols_(symbols), out_(out) {}

  void print(ExprId id, Strength at_least) {
    const Expr& e = exprs_[id];
    Strength strength = strength_of(e);
    if (strength < at_least) *out_ += '(';
    switch (e.kind) {
      case ExprKind::kConstant:
        *out_ += std::to_string(e.number);
        break;
      case ExprKind::kSymbol:
        *out_ += text_of(context_.symbols()[static_cast<size_t>(e.number)]);
        break;
      case ExprKind::kProduct:
        print_joined(e, "*", kAtom);
        break;
      case ExprKind::kFloorDiv:
        print_joined(e, "//", kAtom);
        break;
      case ExprKind::kMod:
        print_joined(e, " % ", kAtom);
        break;
      case ExprKind::kMin:
      case ExprKind::kMax:
        *out_ += e.kind == ExprKind::kMin ? "min(" : "max(";
        print_joined(e, ", ", kSum);
        *out_ += ')';
        break;
      case ExprKind::kSum:
        print_sum(e);
        break;
      case ExprKind::kUnknown:
        *out_ += "unknown";
        break;
      case ExprKind::kFits:
        *out_ += "fits(";
        print_joined(e, ", ", kSum);
        *out_ += ')';
        break;
      default:
        print_comparison(e);
    }
    if (strength < at_least) *out_ += ')';
  }

 private:
  Strength strength_of(const Expr& e) const {
    switch (e.kind) {
      case ExprKind::kConstant:
        return e.number < 0 ? kSum : kAtom;
      case ExprKind::kProduct:
      case ExprKind::kFloorDiv:
      case ExprKind::kMod:
        return kProduct;
      case ExprKind::kSum:
        return e.operand_count == 1 && e.number == 0 && exprs_.coefficients(e)[0] > 0 ? kProduct : kSum;
      case ExprKind::kEqZero:
      case ExprKind::kNeZero:
      case ExprKind::kLeZero:
        return kComparison;
      default:
        return kAtom;
    }
  }

  void print_joined(const Expr& e, const char* separator, Strength at_least) {
    bool first = true;
    for (ExprId operand : exprs_.operands(e)) {
      if (!first) *out_ += separator;
      first = false;
      print(operand, at_least);
    }
  }

  // One coefficient times a monomial; the sign has been printed. A leading minus binds tighter than //, as in
  // Python.
  void print_term(uint64_t coefficient, ExprId monomial, bool after_minus = false) {
    const ExprKind kind = exprs_[monomial].kind;
    if (coefficient != 1) *out_ += std::to_string(coefficient) + "*";
    // 4*s0*s1 needs no parentheses; 4*(s0//2) and -(s0//2) do.
    bool bare = (coefficient == 1 && !after_minus) || kind == ExprKind::kProduct;
    print(monomial, bare ? kProduct : kAtom);
  }

  void print_signed(int64_t sign_source, bool first) {
    if (first) {
      *out_ += sign_source < 0 ? "-" : "";
    } else {
      *out_ += sign_source < 0 ? " - " : " + ";
    }
  }

  static uint64_t magnitude(int64_t n) {
    return n < 0 ? -static_cast<uint64_t>(n) : static_cast<uint64_t>(n);
  }

  void print_sum(const Expr& e) {
    bool first = true;
    for (size_t i = 0; i < e.operand_count; ++i) {
      int64_t coefficient = exprs_.coefficients(e)[i];
      print_signed(coefficient, first);
      print_term(magnitude(coefficient), exprs_.operands(e)[i], first && coefficient < 0);
      first = false;
    }
    if (e.number != 0) {
      print_signed(e.number, first);
      *out_ += std::to_string(magnitude(e.number));
    }
  }

  // The terms of `e` whose coefficients have the sign, and the constant if it does; "0" if there are none.
  void print_side(const Expr& sum, ExprId id, int sign, int64_t constant) {
    bool first = true;
    auto term = [&](uint64_t coefficient, ExprId monomial) {
      if (!first) *out_ += " + ";
      print_term(coefficient, monomial);
      first = false;
    };
    if (sum.kind == ExprKind::kSum) {
      for (size_t i = 0; i < sum.operand_count; ++i) {
        int64_t coefficient = exprs_.coefficients(sum)[i];
        if ((coefficient < 0) == (sign < 0)) term(magnitude(coefficient), exprs_.operands(sum)[i]);
      }
    } else if (sign > 0) {
      term(1, id);
    }
    if ((constant < 0) == (sign < 0) && constant != 0) {
      if (!first) *out_ += " + ";
      *out_ += std::to_string(magnitude(constant));
      first = false;
    }
    if (first) *out_ += '0';
  }

  // e <= 0 is printed with what is negative on the right: s0 - 512 <= 0 as s0 <= 512, s0 - s1 + 1 <= 0 as s0
  // < s1.
  void print_comparison(const Expr& e) {
    ExprId id = exprs_.operands(e)[0];
    const Expr& sum = exprs_[id];
    int64_t constant = sum.kind == ExprKind::kSum ? sum.number : 0;
    const char* sign = e.kind == ExprKind::kEqZero ? " == " : e.kind == ExprKind::kNeZero ? " != " : " <= ";
    if (e.kind == ExprKind::kLeZero && constant == 1 && has_both_signs(sum)) {
      sign = " < ";
      constant = 0;
    }
    print_side(sum, id, 1, constant);
    *out_ += sign;
    print_side(sum, id, -1, constant);
  }

  const std::string& text_of(const Symbol& symbol) const {
    return symbols_ == SymbolText::kNames ? symbol.name : symbol.source;
  }

  bool has_both_signs(const Expr& sum) const {
    bool positive = false, negative = false;
    for (int64_t coefficient : exprs_.coefficients(sum)) (coefficient < 0 ? negative : positive) = true;
    return positive && negative;
  }

  const Context& context_;
  const ExprTable& exprs_;
  SymbolText symbols_;
  std::string* out_;
};

// What is used twice is written twice, so that a text could be of any length.
constexpr size_t kLongest = 400;

std::string shortened(std::string text) {
  if (text.size() <= kLongest) return text;
  size_t end = kLongest;
  while ((static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) end--;  // where a character begins
  return text.substr(0, end) + "...";
}

void append_real(const Context& context, RealId id, SymbolText symbols, std::string* out) {
  if (out->size() > kLongest) {
    *out += "...";
    return;
  }
  const Real& real = context.reals()[id];
  constexpr const char* kSigns[] = {"", "", "", " + ", " - ", " * ", " / ", " ** ", "-"};
  switch (real.kind) {
    case RealKind::kConstant: {
      char buffer[32];
      const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, real.number);
      out->append(buffer, end);
      return;
    }
    case RealKind::kSymbol: {
      const RealSymbol& symbol = context.real_symbols()[real.index];
      *out += symbols == SymbolText::kNames ? symbol.name : symbol.source;
      return;
    }
    case RealKind::kFromInt:
      *out += "float(" + shortened(text(context, ExprId{real.index}, symbols)) + ")";
      return;
    case RealKind::kRead:
      *out += "read" + std::to_string(real.index);
      return;
    case RealKind::kCall: {
      const RealFunctionInfo& function = info(RealFunction{static_cast<uint8_t>(real.index)});
      *out += std::string(function.name) + "(";
      append_real(context, real.a, symbols, out);
      if (function.operands == 2) {
        *out += ", ";
        append_real(context, real.b, symbols, out);
      }
      *out += ')';
      return;
    }
    default:
      *out += '(';
      if (real.kind != RealKind::kNeg) append_real(context, real.a, symbols, out);
      *out += kSigns[static_cast<size_t>(real.kind)];
      append_real(context, real.b, symbols, out);
      *out += ')';
  }
}

}  // namespace

void append_text(const Context& context, ExprId expr, std::string* out, SymbolText symbols) {
  Printer(context, symbols, out).print(expr, kComparison);
}

std::string text(const Context& context, ExprId expr, SymbolText symbols) {
  std::string out;
  append_text(context, expr, &out, symbols);
  return out;
}

std::string text(const Context& context, Dim dim) {
  return dim.is_expr() ? text(context, dim.expr()) : std::to_string(dim.number());
}

std::string text(const Context& context, RealId real, SymbolText symbols) {
  std::string out;
  append_real(context, real, symbols, &out);
  return out;
}

}  // namespace stator::shape
