// src/core/shape/expr.h: integer expressions over symbols as an interned DAG in canonical form.
//
// Arithmetic is a polynomial: a sum of a constant and of coefficients times monomials; a monomial is an atom
// (symbol, floordiv, mod, min, max) or a product of atoms. Comparisons are `e == 0`, `e != 0`, `e <= 0` of
// such a polynomial. Terms are ordered by structure, never by age, so equal text gives equal expressions in
// every table. Contract of every builder: wherever the plain expression is defined for bindings within the
// symbols' ranges, the result has the same value, or none: values are integers of any size, as Python's are,
// and nothing wraps. (It may be defined where the plain one divides by zero.) What has no form with 64-bit
// coefficients, or a form longer than programs write, is `unknown`: it has no value, and what is made of it
// neither.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

#include "core/shape/dim.h"
#include "core/shape/exact.h"
#include "core/shape/range.h"

namespace stator::shape {

enum class ExprKind : uint8_t {
  kConstant,  // number
  kProduct,   // two or more atoms
  kSymbol,    // number: index of the symbol
  kSum,       // number + coefficients * operands
  kFloorDiv,
  kMod,
  kMin,
  kMax,
  kUnknown,
  kFits,    // predicates. The operand has a value of 64 bits
  kEqZero,  // operand compared with 0
  kNeZero,
  kLeZero,
};

struct Expr {
  ExprKind kind;
  bool has_hint = false;
  bool may_overflow = false;  // it, or something it is calculated from, for some values of the symbols
  uint32_t first_operand = 0;
  uint32_t operand_count = 0;
  uint32_t length = 1;  // nodes, counted as often as they are used
  int64_t number = 0;
  int64_t hint = 0;  // the value at capture
  Range range;       // of every value it can take; a predicate is 0 or 1
};

class ExprTable {
 public:
  ExprTable();

  // A symbol's value is bindings[index] at evaluation. The hint may be absent: known only at run time.
  ExprId add_symbol(Range range, std::optional<int64_t> hint);
  uint32_t symbol_count() const { return static_cast<uint32_t>(symbols_.size()); }
  ExprId symbol(uint32_t index) const { return symbols_[index]; }

  ExprId constant(int64_t number);
  ExprId add(ExprId a, ExprId b);
  ExprId sub(ExprId a, ExprId b);
  ExprId neg(ExprId a);
  ExprId mul(ExprId a, ExprId b);
  ExprId floordiv(ExprId a, ExprId b);
  ExprId mod(ExprId a, ExprId b);
  ExprId min(ExprId a, ExprId b);
  ExprId max(ExprId a, ExprId b);

  ExprId unknown();

  // Predicates: the constants 0 and 1 where the ranges decide.
  ExprId eq(ExprId a, ExprId b);
  ExprId ne(ExprId a, ExprId b);
  ExprId lt(ExprId a, ExprId b);
  ExprId le(ExprId a, ExprId b);
  ExprId negate(ExprId predicate);
  // Whether it can be evaluated: a guard for what may overflow.
  ExprId fits(ExprId a);

  const Expr& operator[](ExprId id) const { return exprs_[static_cast<uint32_t>(id)]; }
  std::span<const ExprId> operands(const Expr& e) const {
    return {operands_.data() + e.first_operand, e.operand_count};
  }
  // Of a kSum, beside its operands.
  std::span<const int64_t> coefficients(const Expr& e) const {
    return {coefficients_.data() + e.first_operand, e.operand_count};
  }
  bool contains(ExprId id) const { return static_cast<uint32_t>(id) < exprs_.size(); }
  bool is_constant(ExprId id) const { return (*this)[id].kind == ExprKind::kConstant; }
  bool is_predicate(ExprId id) const { return (*this)[id].kind >= ExprKind::kFits; }
  bool is_unknown(ExprId id) const { return (*this)[id].kind == ExprKind::kUnknown; }
  size_t size() const { return exprs_.size(); }

  // nullopt: division by zero, or a number on the way has more than 64 bits. Allocates nothing; bindings
  // holds one number for each symbol.
  std::optional<int64_t> evaluate(ExprId id, std::span<const int64_t> bindings) const;

 private:
  struct Term {
    Wide coefficient;
    ExprId monomial;
  };
  // Wide, so that a difference that is only compared has all of its digits.
  struct Polynomial {
    Wide constant = 0;
    std::vector<Term> terms;  // ordered by monomial, coefficients not 0
    bool is_exact = true;     // false: unknown
  };
  struct Division {  // a == quotient * b + rest
    Polynomial quotient;
    Polynomial rest;
    bool exact() const { return rest.constant == 0 && rest.terms.empty(); }
    bool found() const { return quotient.constant != 0 || !quotient.terms.empty(); }
  };
  struct Hash {
    const ExprTable* table;
    size_t operator()(ExprId id) const;
  };
  struct Equal {
    const ExprTable* table;
    bool operator()(ExprId a, ExprId b) const;
  };

  ExprTable(const ExprTable&) = delete;
  ExprTable& operator=(const ExprTable&) = delete;

  // Structural order; 0 only for the same expression.
  int compare(ExprId a, ExprId b) const;
  ExprId intern(ExprKind kind, int64_t number, std::span<const ExprId> operands,
                std::span<const int64_t> coefficients = {});
  ExprId intern(ExprKind kind, ExprId a, ExprId b);
  Range range_of(const Expr& e, bool* may_overflow) const;
  template <class ValueOf>
  bool value_of(const Expr& e, int64_t* value, ValueOf&& operand_value) const;

  Polynomial polynomial(ExprId id) const;
  ExprId from(const Polynomial& p);
  Polynomial sum(const Polynomial& a, const Polynomial& b, Wide factor_of_b) const;
  bool is_representable(const Polynomial& p) const;
  Range range_of_terms(const Polynomial& p) const;
  bool is_never_positive(const Polynomial& p) const;
  ExprId multiply_monomials(ExprId a, ExprId b);
  std::optional<ExprId> divide_monomial(ExprId monomial, ExprId divisor);
  Division divide(ExprId a, ExprId b);
  ExprId extremum(ExprKind kind, ExprId a, ExprId b);
  ExprId compare_with_zero(ExprKind kind, Polynomial p);

  std::vector<Expr> exprs_;
  std::vector<ExprId> operands_;
  std::vector<int64_t> coefficients_;  // parallel to operands_
  std::vector<ExprId> symbols_;
  std::unordered_set<ExprId, Hash, Equal> ids_;
};

}  // namespace stator::shape
