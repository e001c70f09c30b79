// src/torch/symbols/sym_number.cpp: Python's arithmetic on ints and floats that may be symbols.
#include "torch/symbols/sym_number.h"

#include <bit>
#include <cfloat>
#include <stdexcept>
#include <utility>

#include "torch/symbols/known_comparison.h"
#include "torch/tracing/capture_break.h"
#include "torch/tracing/session.h"

namespace stator {

using shape::Context;
using shape::RealFunction;
using shape::RealGuard;
using shape::RealId;
using shape::RealKind;
using shape::Size;

SymNumber SymNumber::of(RealId real, Context& context) {
  const shape::Real& known = context.reals()[real];
  if (known.kind == RealKind::kConstant) return of(known.number);
  SymNumber number;
  number.is_real = true;
  number.real = real;
  number.context = &context;
  return number;
}

double SymNumber::hint() const {
  if (!is_real) return static_cast<double>(integer.hint());
  return real ? context->reals()[*real].hint : constant;
}

bool SymNumber::has_hint() const {
  if (!is_real) return !integer.is_symbolic() || integer.context()->hint(integer.dim()).has_value();
  return !real || context->reals()[*real].has_hint;
}

double SymNumber::specialize() const {
  if (!has_hint())
    raise_break(BreakCode::kDataDependentBranch, "a number that is read off a tensor is needed at once");
  if (!is_real) return static_cast<double>(integer.specialize());
  return real ? context->specialize(*real) : constant;
}

namespace {

bool is_finite(RealId real, Context& context) {
  shape::RealTable& reals = context.reals();
  return context.decide(RealGuard::Kind::kLessEqual, reals.call(RealFunction::kFabs, real, real),
                        reals.constant(DBL_MAX));
}

RealId as_real(const SymNumber& number, Context& context) {
  if (number.is_real) return number.real ? *number.real : context.reals().constant(number.constant);
  if (!number.integer.is_symbolic())
    return context.reals().constant(static_cast<double>(number.integer.dim().number()));
  return context.reals().from_int(number.integer.dim().expr(), number.hint());
}

// Whether the float that an int is converted to is that very number: Python divides and compares ints of any
// size. Decided at capture, guarded.
bool converts_exactly(const SymNumber& number) {
  constexpr int64_t kMost = int64_t{1} << 53;
  return number.is_real || (Size(-kMost) <= number.integer && number.integer <= Size(kMost));
}

// Where nobody knows the numbers yet, the run calculates it in its place and raises what Python raises.
SymNumber at_run_time(RealId result, Context& context) {
  if (Session* session = Session::current(); session != nullptr && &session->shapes() == &context)
    session->record_number(result);
  return SymNumber::of(result, context);
}

// Python raises nothing where the result is finite.
std::optional<SymNumber> called(RealFunction function, RealId a, RealId b, Context& context) {
  shape::RealTable& reals = context.reals();
  const RealId result = reals.call(function, a, b);
  if (!reals[result].has_hint) return at_run_time(result, context);
  if (!is_finite(result, context)) return std::nullopt;
  return SymNumber::of(result, context);
}

std::optional<SymNumber> calculate_real(Arithmetic operation, const SymNumber& a, const SymNumber& b,
                                        Context& context) {
  const RealId x = as_real(a, context), y = as_real(b, context);
  shape::RealTable& reals = context.reals();
  switch (operation) {
    case Arithmetic::add:
      return SymNumber::of(reals.binary(RealKind::kAdd, x, y), context);
    case Arithmetic::sub:
      return SymNumber::of(reals.binary(RealKind::kSub, x, y), context);
    case Arithmetic::mul:
      return SymNumber::of(reals.binary(RealKind::kMul, x, y), context);
    case Arithmetic::truediv:
      if (reals[y].has_hint && context.decide(RealGuard::Kind::kEqual, y, reals.constant(0.0)))
        return std::nullopt;
      if (!reals[x].has_hint || !reals[y].has_hint)
        return at_run_time(reals.binary(RealKind::kDiv, x, y), context);
      return SymNumber::of(reals.binary(RealKind::kDiv, x, y), context);
    case Arithmetic::pow: {
      if (!reals[x].has_hint || !reals[y].has_hint)
        return at_run_time(reals.binary(RealKind::kPow, x, y), context);
      // Otherwise Python may give a complex number or raise.
      if (!context.decide(RealGuard::Kind::kLess, reals.constant(0.0), x)) return std::nullopt;
      const RealId power = reals.binary(RealKind::kPow, x, y);
      if (!context.decide(RealGuard::Kind::kLessEqual, power, reals.constant(DBL_MAX))) return std::nullopt;
      return SymNumber::of(power, context);
    }
    case Arithmetic::floordiv:
      return called(RealFunction::kFloorDiv, x, y, context);
    case Arithmetic::mod:
      return called(RealFunction::kMod, x, y, context);
    default:
      return std::nullopt;
  }
}

// Calculates with ints of which some may be known to the run alone. Where a decision needs their values the
// capture ends.
template <class Calculate>
auto with_known_ints(const Calculate& calculate) {
  try {
    return calculate();
  } catch (const std::domain_error&) {
    raise_break(BreakCode::kDataDependentBranch, "a number that is read off a tensor is compared");
  }
}

std::optional<SymNumber> power(Size base, Size exponent) {
  constexpr int64_t kMost = 8;
  if (exponent.is_symbolic()) return std::nullopt;
  const int64_t count = exponent.dim().number();
  if (count < 0 || count > kMost) return std::nullopt;
  Size result = 1;
  for (int64_t i = 0; i < count; ++i) result *= base;
  return SymNumber::of(result);
}

// Where the other operand is a number: a product, a quotient that is rounded down, a rest.
std::optional<SymNumber> shifted(Arithmetic operation, Size a, Size b) {
  constexpr int64_t kMost = 52;
  if (b.is_symbolic() || b.dim().number() < 0 || b.dim().number() > kMost) return std::nullopt;
  const Size power = int64_t{1} << b.dim().number();
  return SymNumber::of(operation == Arithmetic::lshift ? a * power : floordiv(a, power));
}

std::optional<SymNumber> lowest_bits(Size a, Size mask) {
  if (!a.is_symbolic()) std::swap(a, mask);
  constexpr int64_t kMost = int64_t{1} << 52;
  if (mask.is_symbolic() || mask.dim().number() < 1 || mask.dim().number() >= kMost) return std::nullopt;
  const auto bits = static_cast<uint64_t>(mask.dim().number());
  if (!std::has_single_bit(bits + 1)) return std::nullopt;
  return SymNumber::of(a % Size(static_cast<int64_t>(bits + 1)));
}

std::optional<SymNumber> calculate_int(Arithmetic operation, Size a, Size b) {
  switch (operation) {
    case Arithmetic::add:
      return SymNumber::of(a + b);
    case Arithmetic::sub:
      return SymNumber::of(a - b);
    case Arithmetic::mul:
      return SymNumber::of(a * b);
    case Arithmetic::floordiv:
      if (b == Size(0)) return std::nullopt;
      return SymNumber::of(floordiv(a, b));
    case Arithmetic::mod:
      if (b == Size(0)) return std::nullopt;
      return SymNumber::of(a % b);
    case Arithmetic::pow:
      return power(a, b);
    case Arithmetic::lshift:
    case Arithmetic::rshift:
      return shifted(operation, a, b);
    case Arithmetic::bitand_:
      return lowest_bits(a, b);
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<SymNumber> calculate(Arithmetic operation, const SymNumber& a, const SymNumber& b) {
  Context* context = a.context != nullptr ? a.context : b.context;
  if (context == nullptr || (a.context != nullptr && b.context != nullptr && a.context != b.context))
    return std::nullopt;
  if (a.is_real || b.is_real) return calculate_real(operation, a, b, *context);
  if (operation == Arithmetic::truediv) {
    if (!a.has_hint() || !b.has_hint())
      raise_break(BreakCode::kDataDependentBranch, "an int that is read off a tensor is divided");
    if (!converts_exactly(a) || !converts_exactly(b)) return std::nullopt;
    return calculate_real(operation, a, b, *context);
  }
  try {
    return with_known_ints([&] { return calculate_int(operation, a.integer, b.integer); });
  } catch (const std::overflow_error&) {
    return std::nullopt;  // more than 64 bits: an int of Python's
  }
}

std::optional<SymNumber> call(RealFunction function, const SymNumber& a, const std::optional<SymNumber>& b) {
  Context* context = a.context != nullptr ? a.context : b ? b->context : nullptr;
  if (context == nullptr || (a.context != nullptr && b && b->context != nullptr && a.context != b->context))
    return std::nullopt;
  const RealId x = as_real(a, *context);
  return called(function, x, b ? as_real(*b, *context) : x, *context);
}

std::optional<SymNumber> to_int(RealFunction rounding, const SymNumber& a) {
  if (!a.is_real) return a;
  if (a.context == nullptr || !a.has_hint()) return std::nullopt;
  const auto whole = a.context->int_of(a.context->reals().call(rounding, *a.real, *a.real));
  return whole ? std::optional(SymNumber::of(Size(*whole, a.context))) : std::nullopt;
}

SymNumber to_float(const SymNumber& a) { return SymNumber::of(as_real(a, *a.context), *a.context); }

std::optional<SymNumber> integer_root(const SymNumber& a) {
  constexpr double kExact = int64_t{1} << 52;  // up to here the root of the float is on the right side
  if (a.is_real || a.context == nullptr) return std::nullopt;
  const SymNumber number = to_float(a);
  if (compare(Comparison::gt, number, SymNumber::of(kExact))) return std::nullopt;
  const auto root = call(RealFunction::kSqrt, number);
  return root ? to_int(RealFunction::kFloor, *root) : std::nullopt;
}

bool is_finite(const SymNumber& a) {
  if (!a.has_hint())
    raise_break(BreakCode::kDataDependentBranch, "a number that is read off a tensor is compared");
  return is_finite(as_real(a, *a.context), *a.context);
}

std::optional<SymNumber> negate(const SymNumber& a) {
  if (!a.is_real) return calculate(Arithmetic::sub, SymNumber::of(Size(0)), a);
  if (!a.real) return SymNumber::of(-a.constant);
  return SymNumber::of(a.context->reals().neg(*a.real), *a.context);
}

std::optional<SymNumber> absolute(const SymNumber& a) {
  // Of -0.0 it is 0.0, which no comparison tells.
  if (a.real)
    return SymNumber::of(a.context->reals().call(RealFunction::kFabs, *a.real, *a.real), *a.context);
  if (a.is_real) return SymNumber::of(shape::apply(RealFunction::kFabs, a.constant, 0));
  return compare(Comparison::lt, a, SymNumber::of(Size(0))) ? negate(a) : a;
}

namespace {

bool compare_ints(Comparison comparison, Size a, Size b) {
  switch (comparison) {
    case Comparison::lt:
      return a < b;
    case Comparison::le:
      return a <= b;
    case Comparison::eq:
      return a == b;
    case Comparison::ne:
      return !(a == b);
    case Comparison::gt:
      return b < a;
    case Comparison::ge:
      return b <= a;
  }
  return false;
}

bool compare_numbers(Comparison comparison, long double a, long double b) {
  switch (comparison) {
    case Comparison::lt:
      return a < b;
    case Comparison::le:
      return a <= b;
    case Comparison::eq:
      return a == b;
    case Comparison::ne:
      return a != b;
    case Comparison::gt:
      return a > b;
    case Comparison::ge:
      return a >= b;
  }
  return false;
}

}  // namespace

std::optional<bool> compare_if_known(Comparison comparison, const SymNumber& a, const SymNumber& b) {
  if ((a.is_real || b.is_real) && !(a.has_hint() && b.has_hint())) return std::nullopt;
  try {
    return !a.is_real && !b.is_real ? compare_ints(comparison, a.integer, b.integer)
                                    : compare(comparison, a, b);
  } catch (const std::domain_error&) {
    return std::nullopt;
  }
}

bool compare(Comparison comparison, const SymNumber& a, const SymNumber& b) {
  if (!a.is_real && !b.is_real)
    return with_known_ints([&] { return compare_ints(comparison, a.integer, b.integer); });
  Context* context = a.context != nullptr ? a.context : b.context;
  if (!a.has_hint() || !b.has_hint())
    raise_break(BreakCode::kDataDependentBranch, "a number that is read off a tensor is compared");
  if (!converts_exactly(a) || !converts_exactly(b)) {
    static_assert(LDBL_MANT_DIG >= 64, "every int64 is a long double");
    const auto number = [](const SymNumber& of) -> long double {
      return of.is_real ? of.specialize() : static_cast<long double>(of.integer.specialize());
    };
    return compare_numbers(comparison, number(a), number(b));
  }
  const auto decide = [&](RealGuard::Kind kind, const SymNumber& x, const SymNumber& y) {
    if (context == nullptr) return shape::RealTable::compare(kind, x.hint(), y.hint());
    return context->decide(kind, as_real(x, *context), as_real(y, *context));
  };
  switch (comparison) {
    case Comparison::lt:
      return decide(RealGuard::Kind::kLess, a, b);
    case Comparison::le:
      return decide(RealGuard::Kind::kLessEqual, a, b);
    case Comparison::eq:
      return decide(RealGuard::Kind::kEqual, a, b);
    case Comparison::ne:
      return !decide(RealGuard::Kind::kEqual, a, b);
    case Comparison::gt:
      return decide(RealGuard::Kind::kLess, b, a);
    case Comparison::ge:
      return decide(RealGuard::Kind::kLessEqual, b, a);
  }
  return false;
}

}  // namespace stator
