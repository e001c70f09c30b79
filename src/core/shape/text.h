// src/core/shape/text.h: expressions as Python-like text, both ways.
#pragma once

#include <string>
#include <string_view>

#include "core/shape/context.h"

namespace stator::shape {

// `4*s0 + s1//2 - 1`, `s0 % 8 == 0`, `2 <= s0`, `min(s0, 128)`; floats `(f0 * 0.5)`.
std::string text(const Context& context, ExprId expr, SymbolText symbols = SymbolText::kNames);
std::string text(const Context& context, Dim dim);
std::string text(const Context& context, RealId real, SymbolText symbols = SymbolText::kNames);
void append_text(const Context& context, ExprId expr, std::string* out,
                 SymbolText symbols = SymbolText::kNames);

struct ParsedExpr {
  ExprId expr{};
  size_t end = 0;     // characters read; at an error, where it is
  std::string error;  // empty: none
};

// Reads the longest expression at the start of the text. All symbols must be known to the context.
ParsedExpr parse_expr(Context& context, std::string_view text);

}  // namespace stator::shape
