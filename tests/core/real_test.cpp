// tests/core/real_test.cpp: floats that are symbols: evaluation as Python calculates, guards, texts.
#include "core/shape/real.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/shape/context.h"
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

TEST(Real, SymbolsFitIntoBindings) {
  Context context;
  for (size_t i = 0; i < Bindings::kReals; ++i) EXPECT_TRUE(context.real_symbol(1.5, "x"));
  EXPECT_FALSE(context.real_symbol(1.5, "x"));
  for (size_t i = 0; i < Bindings::kInts; ++i) EXPECT_TRUE(context.size_symbol(5, "n").is_expr());
  EXPECT_EQ(context.size_symbol(5, "n"), Dim(5));
  EXPECT_EQ(Context().int_symbol(int64_t{1} << 40, "n"), Dim(int64_t{1} << 40));
}

}  // namespace
}  // namespace stator::shape
