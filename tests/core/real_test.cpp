// tests/core/real_test.cpp: floats that are symbols: evaluation as Python calculates, guards, texts.
#include "core/shape/real.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/shape/context.h"
#include "core/shape/postfix.h"
#include "core/shape/size.h"
#include "core/shape/text.h"

namespace stator::shape {
namespace {

struct Rate {
  Context context;
  RealId rate = *context.real_symbol(0.5, "lr");
  RealTable& reals = context.reals();

  double at(RealId id, double value, int64_t size = 0) {
    Bindings bindings;
    bindings.reals[0] = value;
    bindings.ints[0] = size;
    return context.evaluate(id, bindings);
  }
};

TEST(Real, IsCalculatedOperationByOperation) {
  Rate t;
  const RealId scaled = t.reals.binary(RealKind::kMul, t.rate, t.reals.constant(0.1));
  const RealId sum = t.reals.binary(RealKind::kAdd, scaled, t.reals.neg(t.rate));
  EXPECT_EQ(t.at(sum, 0.3), 0.3 * 0.1 + -0.3);
  EXPECT_EQ(t.reals[sum].hint, 0.5 * 0.1 - 0.5);
  EXPECT_EQ(t.at(t.reals.binary(RealKind::kPow, t.rate, t.reals.constant(3)), 0.3), std::pow(0.3, 3));
  EXPECT_EQ(text(t.context, sum), "((f0 * 0.1) + (-f0))");
  EXPECT_EQ(text(t.context, sum, SymbolText::kSources), "((lr * 0.1) + (-lr))");
}

TEST(Real, EqualExpressionsAreOne) {
  Rate t;
  const RealId two = t.reals.constant(2);
  EXPECT_EQ(t.reals.binary(RealKind::kMul, t.rate, two), t.reals.binary(RealKind::kMul, t.rate, two));
  EXPECT_NE(t.reals.constant(0.0), t.reals.constant(-0.0));
  EXPECT_EQ(t.reals.binary(RealKind::kAdd, two, two), t.reals.constant(4));
}

TEST(Real, IntsTakePart) {
  Rate t;
  const Dim size = t.context.size_symbol(8, "n");
  const RealId mean = t.reals.binary(RealKind::kDiv, t.rate, t.reals.from_int(size.expr(), 8));
  EXPECT_EQ(t.at(mean, 3.0, 7), 3.0 / 7);
  EXPECT_EQ(text(t.context, mean), "(f0 / float(s0))");
}

TEST(Real, ComparisonsLeaveGuards) {
  Rate t;
  EXPECT_TRUE(t.context.decide(RealGuard::Kind::kLess, t.rate, t.reals.constant(0.75)));
  EXPECT_FALSE(t.context.decide(RealGuard::Kind::kEqual, t.rate, t.reals.constant(0)));
  EXPECT_FALSE(t.context.decide(RealGuard::Kind::kEqual, t.rate, t.reals.constant(0)));
  EXPECT_TRUE(t.context.decide(RealGuard::Kind::kLess, t.reals.constant(1), t.reals.constant(2)));
  ASSERT_EQ(t.context.check_count(), 2u);
  EXPECT_EQ(t.context.check_text(0), "f0 < 0.75");
  EXPECT_EQ(t.context.check_text(1, SymbolText::kSources), "not lr == 0");
  Bindings bindings;
  bindings.reals[0] = 0.7;
  EXPECT_EQ(t.context.first_failure(bindings), std::nullopt);
  bindings.reals[0] = 0.75;
  EXPECT_EQ(t.context.first_failure(bindings), 0u);
  bindings.reals[0] = 0;
  EXPECT_EQ(t.context.first_failure(bindings), 1u);
  // With NaN no comparison holds: not even the opposite one.
  bindings.reals[0] = std::nan("");
  EXPECT_EQ(t.context.first_failure(bindings), 0u);
}

TEST(Real, SpecialisingComparesBits) {
  Context context;
  const RealId zero = *context.real_symbol(0.0, "x");
  EXPECT_EQ(context.specialize(zero), 0.0);
  Bindings bindings;
  bindings.reals[0] = -0.0;
  EXPECT_TRUE(context.first_failure(bindings).has_value());
  bindings.reals[0] = 0.0;
  EXPECT_EQ(context.first_failure(bindings), std::nullopt);
}

TEST(Real, FunctionsAreCalledAsPythonCallsThem) {
  Rate t;
  const RealId root = t.reals.call(RealFunction::kSqrt, t.rate, t.rate);
  EXPECT_EQ(t.reals[root].hint, std::sqrt(0.5));
  EXPECT_EQ(t.at(root, 0.3), std::sqrt(0.3));
  EXPECT_EQ(root, t.reals.call(RealFunction::kSqrt, t.rate, t.rate));
  EXPECT_NE(root, t.reals.call(RealFunction::kCbrt, t.rate, t.rate));
  const RealId rest = t.reals.call(RealFunction::kMod, t.rate, t.reals.constant(-0.2));
  EXPECT_EQ(t.at(rest, 0.3), std::fmod(0.3, -0.2) + -0.2);
  EXPECT_EQ(t.at(t.reals.call(RealFunction::kFloorDiv, t.rate, t.reals.constant(0.1)), 1.0), 9);
  EXPECT_TRUE(std::signbit(t.at(t.reals.call(RealFunction::kFloorDiv, t.rate, t.reals.constant(2)), -0.0)));
  EXPECT_EQ(text(t.context, root), "sqrt(f0)");
  EXPECT_EQ(text(t.context, rest, SymbolText::kSources), "mod(lr, -0.2)");
  EXPECT_EQ(find_real_function("erfc"), RealFunction::kErfc);
  EXPECT_EQ(find_real_function("gamma"), std::nullopt);
}

TEST(Real, WhatFollowsIsComputedByEveryCall) {
  Rate t;
  const RealId scaled = t.reals.binary(RealKind::kMul, t.rate, t.reals.constant(20));
  const RealId floor = t.reals.call(RealFunction::kFloor, scaled, scaled);
  const Dim whole = *t.context.int_of(floor);
  ASSERT_TRUE(whole.is_expr());
  EXPECT_EQ(t.context.int_of(floor), whole);
  const Size more = Size(whole, &t.context) + 1;
  const RealId again = t.reals.from_int(more.dim().expr(), 11);
  const RealId root = t.reals.call(RealFunction::kSqrt, again, again);
  const RealId symbol = *t.context.symbol_for(root);
  EXPECT_TRUE(t.context.decide(RealGuard::Kind::kLess, root, t.reals.constant(10)));
  const SymbolChecks checks(t.context);
  Bindings bindings;
  bindings.reals[0] = 0.99;
  EXPECT_EQ(checks.first_failure(bindings), std::nullopt);
  EXPECT_EQ(bindings.ints[0], 19);
  EXPECT_EQ(bindings.reals[t.reals[symbol].index], std::sqrt(20.0));
  EXPECT_EQ(t.context.symbols()[0].source, "floor((lr * 20))");
  bindings.reals[0] = 5;  // sqrt(101) < 10
  EXPECT_EQ(checks.first_failure(bindings), 1u);
  for (const double none : {1e300, std::nan("")}) {
    bindings.reals[0] = none;
    EXPECT_EQ(checks.first_failure(bindings), 0u);
  }
}

TEST(Real, WholeNumbersThatAreNoSymbols) {
  Rate t;
  const auto floor_of = [&](double factor) {
    const RealId product = t.reals.binary(RealKind::kMul, t.rate, t.reals.constant(factor));
    return t.context.int_of(t.reals.call(RealFunction::kFloor, product, product));
  };
  EXPECT_EQ(floor_of(2.5), Dim(1));
  EXPECT_EQ(t.context.check_text(0), "floor((f0 * 2.5)) == 1");
  EXPECT_EQ(floor_of(1e15), std::nullopt);
}

TEST(Real, WhatIsUsedTwiceIsNeitherWrittenNorComputedTwiceForEver) {
  Rate t;
  RealId sum = t.rate;
  for (int i = 0; i < 200; ++i) sum = t.reals.binary(RealKind::kMul, sum, sum);
  t.context.decide(RealGuard::Kind::kLess, sum, t.reals.constant(1));
  EXPECT_LT(t.context.check_text(0).size(), 2000u);
  Bindings bindings;
  bindings.reals[0] = 0.9;
  EXPECT_EQ(SymbolChecks(t.context).first_failure(bindings), std::nullopt);
}

TEST(Real, SymbolsFitIntoBindings) {
  Context context;
  for (size_t i = 0; i < Bindings::kReals; ++i) EXPECT_TRUE(context.real_symbol(1.5, "x"));
  EXPECT_FALSE(context.real_symbol(1.5, "x"));
  for (size_t i = 0; i < Bindings::kInts; ++i) EXPECT_TRUE(context.size_symbol(5, "n").is_expr());
  EXPECT_EQ(context.size_symbol(5, "n"), Dim(5));
  EXPECT_EQ(Context().int_symbol(int64_t{1} << 40, "n"), std::nullopt);
}

}  // namespace
}  // namespace stator::shape
