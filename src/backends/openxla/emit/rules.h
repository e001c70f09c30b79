// src/backends/openxla/emit/rules.h: the functions that rules.def names, by the file that has them.
#pragma once

#include "backends/openxla/emit/call.h"

namespace stator::openxla::rule {

// A name of a StableHLO operation as a template argument: unary<"sine">.
template <size_t N>
struct Name {
  char text[N];
  constexpr Name(const char (&name)[N]) { std::copy_n(name, N, text); }  // NOLINT: a literal is a name
  constexpr operator std::string_view() const { return {text, N - 1}; }  // NOLINT
};

// rules_pointwise.cpp
Outputs apply_unary(const Call& c, std::string_view op);   // in the result's type
Outputs apply_binary(const Call& c, std::string_view op);  // operands self, other, in the promoted type
Outputs apply_compare(const Call& c, Compare direction);
Outputs apply_bits(const Call& c, std::string_view op);
Outputs apply_logical(const Call& c, std::string_view op);
template <Name op>
Outputs unary(const Call& c) {
  return apply_unary(c, op);
}
template <Name op>
Outputs binary(const Call& c) {
  return apply_binary(c, op);
}
template <Compare direction>
Outputs compare(const Call& c) {
  return apply_compare(c, direction);
}
template <Name op>
Outputs bits(const Call& c) {
  return apply_bits(c, op);
}
template <Name op>
Outputs logical(const Call& c) {
  return apply_logical(c, op);
}

// rules_reduce.cpp
Outputs apply_cumulative(const Call& c, std::string_view op, double identity);
template <bool largest>
Outputs extreme_index(const Call& c);  // argmax, argmin
template <bool largest>
Outputs extreme_with_index(const Call& c);  // max.dim, min.dim
template <bool largest>
Outputs cumulative_extreme(const Call& c);  // cummax, cummin

// rules_index.cpp: the window of a gather or scatter by one index per element
Tensor at_coordinates(Builder& b, const Tensor& x, const std::vector<Tensor>& coordinates);

#define STATOR_RULE(name, function) Outputs function(const Call& c);
#define STATOR_RULE_TEMPLATE(name, ...)
#include "backends/openxla/emit/rules.def"

}  // namespace stator::openxla::rule
