// src/torch/symbols/sym_number.h: arithmetic on Python's numbers where some are symbols.
#pragma once

#include <optional>

#include "core/shape/size.h"

namespace stator {

// An int or a float: a number, or an expression of a capture's context.
struct SymNumber {
  bool is_real = false;
  shape::Size integer;                // !is_real
  double constant = 0;                // is_real, unless `real` is there
  std::optional<shape::RealId> real;  // of `context`
  shape::Context* context = nullptr;  // nullptr: a plain number

  static SymNumber of(shape::Size size) {
    SymNumber number;
    number.integer = size;
    number.context = size.context();
    return number;
  }
  static SymNumber of(double constant) {
    SymNumber number;
    number.is_real = true;
    number.constant = constant;
    return number;
  }
  static SymNumber of(shape::RealId real, shape::Context& context);

  bool is_symbolic() const { return context != nullptr; }
  double hint() const;
  // False for what depends on numbers that the program reads off tensors.
  bool has_hint() const;
  // The number at capture, guarded.
  double specialize() const;
};

enum class Arithmetic : uint8_t { add, sub, mul, truediv, floordiv, mod, pow, lshift, rshift, bitand_ };
enum class Comparison : uint8_t { lt, le, eq, ne, gt, ge };

// As Python calculates; nothing where that has no symbolic form or raises: specialise the operands then.
std::optional<SymNumber> calculate(Arithmetic operation, const SymNumber& a, const SymNumber& b);
std::optional<SymNumber> negate(const SymNumber& a);
std::optional<SymNumber> absolute(const SymNumber& a);
// The same of a function of Python's math; `b` where it has two operands. Floats.
std::optional<SymNumber> call(shape::RealFunction function, const SymNumber& a,
                              const std::optional<SymNumber>& b = std::nullopt);
// The int that Python makes of a number by kFloor, kCeil, kTrunc or kRound. An int is itself.
std::optional<SymNumber> to_int(shape::RealFunction rounding, const SymNumber& a);
// Precondition: it is symbolic.
SymNumber to_float(const SymNumber& a);
// math.isqrt
std::optional<SymNumber> integer_root(const SymNumber& a);
bool is_finite(const SymNumber& a);
// Decided by the values at capture; a guard keeps it so.
bool compare(Comparison comparison, const SymNumber& a, const SymNumber& b);

}  // namespace stator
