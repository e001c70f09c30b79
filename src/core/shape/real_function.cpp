// src/core/shape/real_function.cpp: the table of functions, and Python's division of floats.
#include "core/shape/real_function.h"

#include <cmath>
#include <numbers>

namespace stator::shape {
namespace {

// The rest has the sign of the divisor, a zero too.
double python_mod(double a, double b) {
  const double rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(0.0, b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}

// Of the exact quotient, not of a / b, which may have been rounded up to a whole number.
double python_floordiv(double a, double b) {
  const double rest = std::fmod(a, b);
  double quotient = (a - rest) / b;  // nearly whole
  if (rest != 0 && (rest < 0) != (b < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double below = std::floor(quotient);
  return quotient - below > 0.5 ? below + 1 : below;
}

constexpr RealFunctionInfo kInfos[] = {
#define REAL_FUNCTION(identifier, module, name, expression, operands, raises) \
  {module, name, operands, raises},
#include "core/shape/real_functions.def"
};

}  // namespace

const RealFunctionInfo& info(RealFunction function) { return kInfos[static_cast<size_t>(function)]; }

std::optional<RealFunction> find_real_function(std::string_view name) {
  for (size_t i = 0; i < std::size(kInfos); i++) {
    if (name == kInfos[i].name) return static_cast<RealFunction>(i);
  }
  return std::nullopt;
}

double apply(RealFunction function, double a, [[maybe_unused]] double b) {
  switch (function) {
#define REAL_FUNCTION(identifier, module, name, expression, operands, raises) \
  case RealFunction::identifier:                                              \
    return expression;
#include "core/shape/real_functions.def"
  }
  return a;
}

}  // namespace stator::shape
