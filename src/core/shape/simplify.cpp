// src/core/shape/simplify.cpp: the builders of ExprTable, which bring sums, products and divisions to
// canonical form.
#include <algorithm>
#include <utility>

#include "core/shape/expr.h"

namespace stator::shape {
namespace {

// Products of sums are multiplied out up to this many terms: equal sizes then have equal expressions.
constexpr size_t kMaxExpandedTerms = 64;

Wide gcd(Wide a, Wide b) {
  while (b != 0) {
    a %= b;
    std::swap(a, b);
  }
  return a < 0 ? -a : a;
}

bool exact_multiply_add(Wide a, Wide b, Wide factor, Wide* result) {
  return exact_mul(b, factor, &b) && exact_add(a, b, result);
}

}  // namespace

ExprTable::Polynomial ExprTable::polynomial(ExprId id) const {
  const Expr& e = (*this)[id];
  if (e.kind == ExprKind::kUnknown) return {0, {}, false};
  if (e.kind == ExprKind::kConstant) return {e.number, {}};
  if (e.kind != ExprKind::kSum) return {0, {{1, id}}};
  Polynomial p{e.number, {}};
  for (size_t i = 0; i < e.operand_count; ++i) p.terms.push_back({coefficients(e)[i], operands(e)[i]});
  return p;
}

bool ExprTable::is_representable(const Polynomial& p) const {
  return p.is_exact && fits_int64(p.constant) && std::ranges::all_of(p.terms, [&](const Term& term) {
           return fits_int64(term.coefficient) && !is_unknown(term.monomial);
         });
}

ExprId ExprTable::from(const Polynomial& p) {
  if (!is_representable(p)) return unknown();
  const auto number = static_cast<int64_t>(p.constant);
  if (p.terms.empty()) return constant(number);
  if (p.constant == 0 && p.terms.size() == 1 && p.terms[0].coefficient == 1) return p.terms[0].monomial;
  std::vector<ExprId> monomials;
  std::vector<int64_t> factors;
  for (const Term& term : p.terms) {
    monomials.push_back(term.monomial);
    factors.push_back(static_cast<int64_t>(term.coefficient));
  }
  return intern(ExprKind::kSum, number, monomials, factors);
}

ExprTable::Polynomial ExprTable::sum(const Polynomial& a, const Polynomial& b, Wide factor_of_b) const {
  Polynomial result;
  result.is_exact =
      a.is_exact && b.is_exact && exact_multiply_add(a.constant, b.constant, factor_of_b, &result.constant);
  auto x = a.terms.begin(), y = b.terms.begin();
  while (result.is_exact && (x != a.terms.end() || y != b.terms.end())) {
    int order = x == a.terms.end() ? 1 : y == b.terms.end() ? -1 : compare(x->monomial, y->monomial);
    Term term = order <= 0 ? *x++ : Term{0, y->monomial};
    if (order >= 0)
      result.is_exact &=
          exact_multiply_add(term.coefficient, y++->coefficient, factor_of_b, &term.coefficient);
    if (term.coefficient != 0) result.terms.push_back(term);
  }
  return result;
}

// Without the constant.
Range ExprTable::range_of_terms(const Polynomial& p) const {
  Range sum = Range::exactly(0);
  for (const Term& term : p.terms) {
    if (!fits_int64(term.coefficient)) return Range::all();
    sum = sum + Range::exactly(static_cast<int64_t>(term.coefficient)) * (*this)[term.monomial].range;
  }
  return sum;
}

bool ExprTable::is_never_positive(const Polynomial& p) const {
  if (!p.is_exact) return false;
  const Range terms = range_of_terms(p);
  return terms.high != Range::kHighest && terms.high + p.constant <= 0;
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
  if (!p.is_exact || !q.is_exact) return unknown();
  if (p.terms.empty()) return from(sum({}, q, p.constant));
  if (q.terms.empty()) return from(sum({}, p, q.constant));
  if ((p.terms.size() + 1) * (q.terms.size() + 1) > kMaxExpandedTerms) return multiply_monomials(a, b);
  Polynomial result = sum({p.constant * q.constant, {}}, {0, q.terms}, p.constant);
  result = sum(result, {0, p.terms}, q.constant);
  for (const Term& x : p.terms) {
    for (const Term& y : q.terms) {
      Term product{x.coefficient * y.coefficient, multiply_monomials(x.monomial, y.monomial)};
      if (is_unknown(product.monomial)) return unknown();
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
    exact_floordiv(p.constant, q.constant, &result.quotient.constant);
    exact_mod(p.constant, q.constant, &result.rest.constant);
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
  const Wide factor = p.terms[0].coefficient / q.terms[0].coefficient;
  Polynomial rest = sum(p, q, -factor);
  if (rest.is_exact && rest.terms.empty() && rest.constant == 0) result = {{factor, {}}, {}};
  return result;
}

namespace {

// Never negative; 0 of no terms.
template <class Polynomial>
Wide gcd_of_terms(const Polynomial& p) {
  Wide result = 0;
  for (const auto& term : p.terms) result = gcd(result, term.coefficient);
  return result;
}

template <class Polynomial>
Polynomial divided(Polynomial p, Wide divisor) {
  exact_floordiv(p.constant, divisor, &p.constant);
  for (auto& term : p.terms) term.coefficient /= divisor;
  return p;
}

}  // namespace

ExprId ExprTable::floordiv(ExprId a, ExprId b) {
  const Polynomial p = polynomial(a), q = polynomial(b);
  if (!p.is_exact || !q.is_exact) return unknown();
  if (q.terms.empty() && q.constant == 0) return intern(ExprKind::kFloorDiv, a, b);
  const Division parts = divide(a, b);
  if (parts.exact() || (p.terms.empty() && q.terms.empty())) return from(parts.quotient);
  if (parts.found()) return add(from(parts.quotient), floordiv(from(parts.rest), b));
  if ((q.terms.empty() ? q.constant : q.terms[0].coefficient) < 0) return floordiv(neg(a), neg(b));
  const Range range = shape::floordiv((*this)[a].range, (*this)[b].range);
  if (range.is_one_number()) return constant(range.low);
  if (q.terms.empty()) {
    // (g*x + k) // (g*m) == (x + k//g) // m, for the lower digits of k cannot carry.
    const Wide common = gcd(gcd_of_terms(p), q.constant);
    if (common > 1)
      return floordiv(from(divided(p, common)), constant(static_cast<int64_t>(q.constant / common)));
    // (x//c + k) // d == (x + k*c) // (c*d)
    if (p.terms.size() == 1 && p.terms[0].coefficient == 1) {
      const Expr inner = (*this)[p.terms[0].monomial];
      if (inner.kind == ExprKind::kFloorDiv && is_constant(operands(inner)[1])) {
        const Wide c = (*this)[operands(inner)[1]].number, both = c * q.constant;
        const Polynomial x = sum(polynomial(operands(inner)[0]), {p.constant * c, {}}, 1);
        if (c > 0 && fits_int64(both) && is_representable(x))
          return floordiv(from(x), constant(static_cast<int64_t>(both)));
      }
    }
  } else {
    const Wide common = gcd(gcd(gcd_of_terms(p), gcd_of_terms(q)), gcd(p.constant, q.constant));
    if (common > 1) return floordiv(from(divided(p, common)), from(divided(q, common)));
  }
  return intern(ExprKind::kFloorDiv, a, b);
}

ExprId ExprTable::mod(ExprId a, ExprId b) {
  const Polynomial p = polynomial(a), q = polynomial(b);
  if (!p.is_exact || !q.is_exact) return unknown();
  if (q.terms.empty() && q.constant == 0) return intern(ExprKind::kMod, a, b);
  const Division parts = divide(a, b);
  if (parts.exact() || (p.terms.empty() && q.terms.empty())) return from(parts.rest);
  if (parts.found()) return mod(from(parts.rest), b);
  if ((q.terms.empty() ? q.constant : q.terms[0].coefficient) < 0) return neg(mod(neg(a), neg(b)));
  const Range of_a = (*this)[a].range, of_b = (*this)[b].range;
  if (of_a.low >= 0 && of_a.high < of_b.low) return a;
  const Wide common = gcd(gcd(gcd_of_terms(p), gcd_of_terms(q)), gcd(p.constant, q.constant));
  if (common > 1) {
    return mul(constant(static_cast<int64_t>(common)),
               mod(from(divided(p, common)), from(divided(q, common))));
  }
  return intern(ExprKind::kMod, a, b);
}

ExprId ExprTable::min(ExprId a, ExprId b) { return extremum(ExprKind::kMin, a, b); }
ExprId ExprTable::max(ExprId a, ExprId b) { return extremum(ExprKind::kMax, a, b); }

ExprId ExprTable::extremum(ExprKind kind, ExprId a, ExprId b) {
  if (is_unknown(a) || is_unknown(b)) return unknown();
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
    if (kind == ExprKind::kMin) std::swap(x, y);
    return is_never_positive(sum(polynomial(x), polynomial(y), -1));
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
  if (!p.is_exact) return unknown();
  if (!p.terms.empty()) {
    const Wide common = gcd_of_terms(p);
    if (kind == ExprKind::kLeZero) {
      // g*x + k <= 0 is x <= floor(-k / g).
      Wide bound = 0;
      if (!exact_sub(Wide{0}, p.constant, &bound)) return unknown();
      exact_floordiv(bound, common, &bound);
      p = divided(p, common);
      p.constant = -bound;
    } else {
      if (p.constant % common != 0) return constant(kind == ExprKind::kNeZero);
      p = divided(p, p.terms[0].coefficient < 0 ? -common : common);
    }
  }
  // Of all of its digits, where an expression would have no room for them.
  const Range terms = range_of_terms(p);
  const bool never_positive = is_never_positive(p);
  const bool always_positive = terms.low != Range::kLowest && terms.low + p.constant > 0;
  if (kind == ExprKind::kLeZero) {
    if (never_positive || always_positive) return constant(never_positive);
  } else {
    const bool never_zero = always_positive || (terms.high != Range::kHighest && terms.high + p.constant < 0);
    if (never_zero) return constant(kind == ExprKind::kNeZero);
    if (terms.is_one_number()) return constant(kind == ExprKind::kEqZero);  // which is not another than 0
  }
  const ExprId operands[] = {from(p)};
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
ExprId ExprTable::lt(ExprId a, ExprId b) {
  Polynomial p = sum(polynomial(a), polynomial(b), -1);
  p.is_exact &= exact_add(p.constant, Wide{1}, &p.constant);
  return compare_with_zero(ExprKind::kLeZero, std::move(p));
}

ExprId ExprTable::fits(ExprId a) {
  if (!(*this)[a].may_overflow) return constant(1);
  const ExprId operands[] = {a};
  return intern(ExprKind::kFits, 0, operands);
}

ExprId ExprTable::negate(ExprId predicate) {
  const Expr e = (*this)[predicate];
  if (e.kind == ExprKind::kConstant) return constant(e.number == 0);
  if (e.kind == ExprKind::kUnknown || e.kind == ExprKind::kFits) return unknown();  // nobody relies on it
  ExprId operand = operands(e)[0];
  if (e.kind == ExprKind::kEqZero) return ne(operand, constant(0));
  if (e.kind == ExprKind::kNeZero) return eq(operand, constant(0));
  return lt(constant(0), operand);
}

}  // namespace stator::shape
