// tests/core/size_test.cpp: sizes that may be symbolic, and the guards that comparing them leaves behind.
#include "core/shape/size.h"

#include <gtest/gtest.h>

#include "core/shape/text.h"

namespace stator::shape {
namespace {

std::string guards(const Context& context) {
  std::string result;
  for (const SizeGuard& guard : context.guards()) result += text(context, guard.predicate) + "; ";
  return result;
}

TEST(Size, NumbersNeedNoContext) {
  Size a = 7, b = -2;
  EXPECT_EQ((a + b).dim(), Dim(5));
  EXPECT_EQ((a * b).dim(), Dim(-14));
  EXPECT_EQ(floordiv(a, b).dim(), Dim(-4));
  EXPECT_EQ((a % b).dim(), Dim(-1));
  EXPECT_EQ(min(a, b).dim(), Dim(-2));
  EXPECT_TRUE(b < a && a != b && a >= a);
}

TEST(Size, ZeroAndOneAreSpecialised) {
  Context context;
  EXPECT_EQ(context.size_symbol(0, "a"), Dim(0));
  EXPECT_EQ(context.size_symbol(1, "a"), Dim(1));
  EXPECT_EQ(context.int_symbol(1, "a"), std::nullopt);
  EXPECT_TRUE(context.size_symbol(2, "a").is_expr());
  EXPECT_EQ(context.symbols().size(), 1u);
}

// Numbers of a program, unlike sizes, may be those that a Dim takes for expressions.
TEST(Size, LargeNumbersOfAProgramStayConstants) {
  Context context;
  for (const int64_t number : {-(int64_t{1} << 62), -(int64_t{1} << 62) + 5, int64_t{1} << 62, INT64_MIN})
    EXPECT_EQ(context.int_symbol(number, "a"), std::nullopt);
  EXPECT_TRUE(context.symbols().empty());
}

// A shape rule as the torch layer writes it: one size of two broadcast dimensions.
Size broadcast(Size a, Size b) {
  if (a == 1) return b;
  if (b == 1) return a;
  EXPECT_TRUE(a == b);
  return a;
}

TEST(Size, ARuleReadsLikeOneOnIntegers) {
  Context context;
  Size x(context.size_symbol(8, "L[\"x\"].size(0)"), &context),
      y(context.size_symbol(8, "L[\"y\"].size(0)"), &context);
  EXPECT_EQ(broadcast(x, 1).dim(), x.dim());
  EXPECT_EQ(guards(context), "");  // sizes are at least 2, so comparing with 1 leaves none
  UserLines lines;
  LineId line = lines.add("model.py", 9, "forward");
  struct Here : UserPlace {
    LineId at;
    explicit Here(LineId where) : at(where) {}
    LineId line() override { return at; }
  } here(line);
  context.follow(&here);
  EXPECT_EQ(broadcast(x, y).dim(), x.dim());
  EXPECT_EQ(broadcast(x, y).dim(), x.dim());
  EXPECT_EQ(guards(context), "s0 == s1; ");
  EXPECT_EQ(context.guards()[0].line, line);
}

TEST(Size, DecisionsAreCheckedOnLaterCalls) {
  Context context;
  Size x(context.size_symbol(8, "L[\"x\"].size(0)"), &context);
  EXPECT_FALSE(x > 100);
  EXPECT_TRUE(x % 2 == 0);
  EXPECT_EQ((x * 4 + 2).hint(), 34);
  EXPECT_EQ(guards(context), "s0 <= 100; s0 % 2 == 0; ");
  const int64_t good[] = {20}, large[] = {200}, odd[] = {9}, one[] = {1};
  EXPECT_EQ(context.first_failure(good), std::nullopt);
  EXPECT_EQ(context.check_text(*context.first_failure(large)), "s0 <= 100");
  EXPECT_EQ(context.check_text(*context.first_failure(odd)), "s0 % 2 == 0");
  EXPECT_EQ(context.check_text(*context.first_failure(one)), "2 <= s0 <= 1048576");
  EXPECT_EQ(x.specialize(), 8);
  EXPECT_EQ(context.check_text(*context.first_failure(good)), "s0 == 8");
}

TEST(Size, AGuardThatCannotBeEvaluatedFails) {
  Context context;
  Size n(*context.int_symbol(5, "L[\"n\"]"), &context), m(*context.int_symbol(7, "L[\"m\"]"), &context);
  EXPECT_TRUE(floordiv(m, n - 3) == 3);
  const int64_t zero_divisor[] = {3, 7}, good[] = {5, 7};
  EXPECT_EQ(context.first_failure(good), std::nullopt);
  EXPECT_TRUE(context.first_failure(zero_divisor).has_value());
}

TEST(Size, WithoutAHintADecisionIsRefused) {
  Context context;
  ExprId unbacked = context.add_symbol("u0", "", Range{0, Range::kHighest}, std::nullopt);
  ExprTable& exprs = context.exprs();
  EXPECT_TRUE(context.decide(exprs.le(exprs.constant(0), unbacked)));
  EXPECT_THROW(context.decide(exprs.eq(unbacked, exprs.constant(3))), std::domain_error);
}

}  // namespace
}  // namespace stator::shape
