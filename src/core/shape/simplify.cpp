// src/core/shape/simplify.cpp: the builders of ExprTable, which bring sums, products and divisions to
// canonical form.
#include <algorithm>
#include <numeric>

#include "core/shape/expr.h"

namespace stator::shape {
namespace {

// Products of sums are multiplied out up to this many terms: equal sizes then have equal expressions.
constexpr size_t kMaxExpandedTerms = 64;

uint64_t magnitude(int64_t n) { return n < 0 ? -static_cast<uint64_t>(n) : static_cast<uint64_t>(n); }

}  // namespace

ExprTable::Polynomial ExprTable::polynomial(ExprId id) const {
  const Expr& e = (*this)[id];
  if (e.kind == ExprKind::kConstant) return {e.number, {}};
  if (e.kind != ExprKind::kSum) return {0, {{1, id}}};
  Polynomial p{e.number, {}};
  for (size_t i = 0; i < e.operand_count; ++i) p.terms.push_back({coefficients(e)[i], operands(e)[i]});
  return p;
}

ExprId ExprTable::from(const Polynomial& p) {
  if (p.terms.empty()) return constant(p.constant);
  if (p.constant == 0 && p.terms.size() == 1 && p.terms[0].coefficient == 1) return p.terms[0].monomial;
  std::vector<ExprId> monomials;
  std::vector<int64_t> factors;
  for (const Term& term : p.terms) {
    monomials.push_back(term.monomial);
    factors.push_back(term.coefficient);
  }
  return intern(ExprKind::kSum, p.constant, monomials, factors);
}

ExprTable::Polynomial ExprTable::sum(const Polynomial& a, const Polynomial& b, int64_t factor_of_b) const {
  Polynomial result{wrap_add(a.constant, wrap_mul(b.constant, factor_of_b)), {}};
  auto x = a.terms.begin(), y = b.terms.begin();
  while (x != a.terms.end() || y != b.terms.end()) {
    int order = x == a.terms.end() ? 1 : y == b.terms.end() ? -1 : compare(x->monomial, y->monomial);
    Term term = order <= 0 ? *x++ : Term{0, y->monomial};
    if (order >= 0) term.coefficient = wrap_add(term.coefficient, wrap_mul(y++->coefficient, factor_of_b));
    if (term.coefficient != 0) result.terms.push_back(term);
  }
  return result;
}

ExprId ExprTable::add(ExprId a, ExprId b) { return from(sum(polynomial(a), polynomial(b), 1)); }
ExprId ExprTable::sub(ExprId a, ExprId b) { return from(sum(polynomial(a), polynomial(b), -1)); }
ExprId ExprTable::neg(ExprId a) { return from(sum({}, polynomial(a), -1)); }

ExprId ExprTable::multiply_monomials(ExprId a, ExprId b) {
  std::vector<ExprId> atoms;
  for (ExprId side : {a, b}) {
    const Expr& e = (*this)[side];
    if (e.kind == ExprKind::kProduct) {
      atoms.insert(atoms.end(), operands(e).begin(), operands(e).end());
    } else {
      atoms.push_back(side);
    }
  }
  std::ranges::sort(atoms, [this](ExprId x, ExprId y) { return compare(x, y) < 0; });
  return intern(ExprKind::kProduct, 0, atoms);
}

ExprId ExprTable::mul(ExprId a, ExprId b) {
  Polynomial p = polynomial(a), q = polynomial(b);
  if (p.terms.empty()) return from(sum({}, q, p.constant));
  if (q.terms.empty()) return from(sum({}, p, q.constant));
  if ((p.terms.size() + 1) * (q.terms.size() + 1) > kMaxExpandedTerms) return multiply_monomials(a, b);
  Polynomial result = sum({wrap_mul(p.constant, q.constant), {}}, {0, q.terms}, p.constant);
  result = sum(result, {0, p.terms}, q.constant);
  for (const Term& x : p.terms) {
    for (const Term& y : q.terms) {
      Term product{wrap_mul(x.coefficient, y.coefficient), multiply_monomials(x.monomial, y.monomial)};
      result = sum(result, {0, {product}}, 1);
    }
  }
  return from(result);
}

// monomial / divisor, where every atom of the divisor is an atom of the monomial.
std::optional<ExprId> ExprTable::divide_monomial(ExprId monomial, ExprId divisor) {
  auto atoms_of = [this](ExprId id) {
    const Expr& e = (*this)[id];
    if (e.kind != ExprKind::kProduct) return std::vector<ExprId>{id};
    return std::vector<ExprId>(operands(e).begin(), operands(e).end());
  };
  std::vector<ExprId> atoms = atoms_of(monomial);
  for (ExprId atom : atoms_of(divisor)) {
    auto found = std::ranges::find(atoms, atom);
    if (found == atoms.end()) return std::nullopt;
    atoms.erase(found);
  }
  if (atoms.empty()) return constant(1);
  return atoms.size() == 1 ? atoms[0] : intern(ExprKind::kProduct, 0, atoms);
}

ExprTable::Division ExprTable::divide(ExprId a, ExprId b) {
  Polynomial p = polynomial(a), q = polynomial(b);
  Division result;
  if (q.terms.empty()) {
    result.quotient.constant = shape::floordiv(p.constant, q.constant);
    result.rest.constant = shape::mod(p.constant, q.constant);
    for (const Term& term : p.terms) {
      if (term.coefficient % q.constant == 0) {
        result.quotient.terms.push_back({term.coefficient / q.constant, term.monomial});
      } else {
        result.rest.terms.push_back(term);
      }
    }
    return result;
  }
  result.rest = p;
  if (q.terms.size() == 1 && q.constant == 0) {
    const Term& divisor = q.terms[0];
    result.rest.terms.clear();
    for (const Term& term : p.terms) {
      std::optional<ExprId> quotient;
      if (term.coefficient % divisor.coefficient == 0)
        quotient = divide_monomial(term.monomial, divisor.monomial);
      if (quotient) {
        Polynomial part = polynomial(*quotient);
        result.quotient = sum(result.quotient, part, term.coefficient / divisor.coefficient);
      } else {
        result.rest.terms.push_back(term);
      }
    }
    return result;
  }
  // A divisor with several terms divides only its own multiples.
  if (p.terms.empty() || p.terms[0].coefficient % q.terms[0].coefficient != 0) return result;
  int64_t factor = p.terms[0].coefficient / q.terms[0].coefficient;
  Polynomial rest = sum(p, q, wrap_mul(factor, -1));
  if (rest.terms.empty() && rest.constant == 0) result = {{factor, {}}, {}};
  return result;
}

namespace {

template <class Polynomial>
uint64_t gcd_of_terms(const Polynomial& p) {
  uint64_t gcd = 0;
  for (const auto& term : p.terms) gcd = std::gcd(gcd, magnitude(term.coefficient));
  return gcd;
}

template <class Polynomial>
Polynomial divided(Polynomial p, int64_t divisor) {
  p.constant = floordiv(p.constant, divisor);
  for (auto& term : p.terms) term.coefficient /= divisor;
  return p;
}

}  // namespace

ExprId ExprTable::floordiv(ExprId a, ExprId b) {
  Polynomial p = polynomial(a), q = polynomial(b);
  if (q.terms.empty() && q.constant == 0) return intern(ExprKind::kFloorDiv, a, b);
  Division parts = divide(a, b);
  if (parts.exact()) return from(parts.quotient);
  if (parts.found()) return add(from(parts.quotient), floordiv(from(parts.rest), b));
  if ((q.terms.empty() ? q.constant : q.terms[0].coefficient) < 0) return floordiv(neg(a), neg(b));
  Range range = shape::floordiv((*this)[a].range, (*this)[b].range);
  if (range.low == range.high) return constant(range.low);
  if (q.terms.empty()) {
    // (g*x + k) // (g*m) == (x + k//g) // m, for the lower digits of k cannot carry.
    auto gcd = static_cast<int64_t>(std::gcd(gcd_of_terms(p), magnitude(q.constant)));
    if (gcd > 1) return floordiv(from(divided(p, gcd)), constant(q.constant / gcd));
    // (x//c + k) // d == (x + k*c) // (c*d)
    if (p.terms.size() == 1 && p.terms[0].coefficient == 1) {
      const Expr inner = (*this)[p.terms[0].monomial];
      if (inner.kind == ExprKind::kFloorDiv && is_constant(operands(inner)[1])) {
        ExprId x = operands(inner)[0];
        int64_t c = (*this)[operands(inner)[1]].number, both = 0;
        if (c > 0 && !__builtin_mul_overflow(c, q.constant, &both)) {
          return floordiv(add(x, constant(wrap_mul(p.constant, c))), constant(both));
        }
      }
    }
  } else {
    uint64_t gcd = std::gcd(std::gcd(gcd_of_terms(p), gcd_of_terms(q)),
                            std::gcd(magnitude(p.constant), magnitude(q.constant)));
    if (gcd > 1) {
      return floordiv(from(divided(p, static_cast<int64_t>(gcd))),
                      from(divided(q, static_cast<int64_t>(gcd))));
    }
  }
  return intern(ExprKind::kFloorDiv, a, b);
}

ExprId ExprTable::mod(ExprId a, ExprId b) {
  Polynomial p = polynomial(a), q = polynomial(b);
  if (q.terms.empty() && q.constant == 0) return intern(ExprKind::kMod, a, b);
  Division parts = divide(a, b);
  if (parts.exact()) return constant(0);
  if (parts.found()) return mod(from(parts.rest), b);
  if ((q.terms.empty() ? q.constant : q.terms[0].coefficient) < 0) return neg(mod(neg(a), neg(b)));
  Range of_a = (*this)[a].range, of_b = (*this)[b].range;
  if (of_a.low >= 0 && of_a.high < of_b.low) return a;
  uint64_t gcd = std::gcd(std::gcd(gcd_of_terms(p), gcd_of_terms(q)),
                          std::gcd(magnitude(p.constant), magnitude(q.constant)));
  if (gcd > 1) {
    auto divisor = static_cast<int64_t>(gcd);
    return mul(constant(divisor), mod(from(divided(p, divisor)), from(divided(q, divisor))));
  }
  return intern(ExprKind::kMod, a, b);
}

ExprId ExprTable::min(ExprId a, ExprId b) { return extremum(ExprKind::kMin, a, b); }
ExprId ExprTable::max(ExprId a, ExprId b) { return extremum(ExprKind::kMax, a, b); }

ExprId ExprTable::extremum(ExprKind kind, ExprId a, ExprId b) {
  std::vector<ExprId> all;
  for (ExprId side : {a, b}) {
    const Expr& e = (*this)[side];
    if (e.kind == kind) {
      all.insert(all.end(), operands(e).begin(), operands(e).end());
    } else {
      all.push_back(side);
    }
  }
  std::ranges::sort(all, [this](ExprId x, ExprId y) { return compare(x, y) < 0; });
  all.erase(std::unique(all.begin(), all.end()), all.end());
  // x gives way to y where the difference of the two can have one sign only.
  auto gives_way = [&](ExprId x, ExprId y) {
    ExprId excess = kind == ExprKind::kMin ? sub(y, x) : sub(x, y);
    return (*this)[excess].range.high <= 0;
  };
  for (size_t i = 0; i < all.size();) {
    bool redundant =
        std::ranges::any_of(all, [&](ExprId other) { return other != all[i] && gives_way(all[i], other); });
    if (redundant) {
      all.erase(all.begin() + static_cast<ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  return all.size() == 1 ? all[0] : intern(kind, 0, all);
}

ExprId ExprTable::compare_with_zero(ExprKind kind, Polynomial p) {
  if (!p.terms.empty()) {
    auto gcd = static_cast<int64_t>(gcd_of_terms(p));
    if (kind == ExprKind::kLeZero) {
      // g*x + k <= 0 is x <= floor(-k / g).
      int64_t bound = shape::floordiv(wrap_mul(p.constant, -1), gcd);
      p = divided(p, gcd);
      p.constant = wrap_mul(bound, -1);
    } else {
      if (p.constant % gcd != 0) return constant(kind == ExprKind::kNeZero);
      p = divided(p, p.terms[0].coefficient < 0 ? -gcd : gcd);
    }
  }
  const ExprId difference = from(p);
  const Range range = (*this)[difference].range;
  if (kind == ExprKind::kLeZero) {
    if (range.high <= 0) return constant(1);
    if (range.low > 0) return constant(0);
  } else {
    if (!range.contains(0)) return constant(kind == ExprKind::kNeZero);
    if (range == Range::exactly(0)) return constant(kind == ExprKind::kEqZero);
  }
  const ExprId operands[] = {difference};
  return intern(kind, 0, operands);
}

ExprId ExprTable::eq(ExprId a, ExprId b) {
  return compare_with_zero(ExprKind::kEqZero, sum(polynomial(a), polynomial(b), -1));
}
ExprId ExprTable::ne(ExprId a, ExprId b) {
  return compare_with_zero(ExprKind::kNeZero, sum(polynomial(a), polynomial(b), -1));
}
ExprId ExprTable::le(ExprId a, ExprId b) {
  return compare_with_zero(ExprKind::kLeZero, sum(polynomial(a), polynomial(b), -1));
}
ExprId ExprTable::lt(ExprId a, ExprId b) { return le(add(a, constant(1)), b); }

ExprId ExprTable::negate(ExprId predicate) {
  const Expr e = (*this)[predicate];
  if (e.kind == ExprKind::kConstant) return constant(e.number == 0);
  ExprId operand = operands(e)[0];
  if (e.kind == ExprKind::kEqZero) return ne(operand, constant(0));
  if (e.kind == ExprKind::kNeZero) return eq(operand, constant(0));
  return lt(constant(0), operand);
}

}  // namespace stator::shape
