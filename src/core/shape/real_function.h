// src/core/shape/real_function.h: functions of floats beside the operators: roots, logarithms, rounding.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace stator::shape {

enum class RealFunction : uint8_t {
#define REAL_FUNCTION(identifier, module, name, expression, operands, raises) identifier,
#include "core/shape/real_functions.def"
};

struct RealFunctionInfo {
  const char* module;  // of Python's, where it is found by its name
  const char* name;
  int operands;  // 1 or 2
  bool raises;   // for some floats
};

const RealFunctionInfo& info(RealFunction function);
std::optional<RealFunction> find_real_function(std::string_view name);

// What Python's function gives. Where Python raises, it is not finite: who gets such a result asks Python.
double apply(RealFunction function, double a, double b);

}  // namespace stator::shape
