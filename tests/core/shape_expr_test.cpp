// tests/core/shape_expr_test.cpp: canonical forms of size expressions, by example and against plain
// evaluation.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <random>

#include "core/shape/context.h"
#include "core/shape/postfix.h"
#include "core/shape/text.h"

namespace stator::shape {
namespace {

// s0, s1: sizes (at least 2); i2: any integer.
void add_symbols(Context* context) {
  context->add_symbol("s0", "L[\"x\"].size(0)", Range{2, Range::kHighest}, 6);
  context->add_symbol("s1", "L[\"x\"].size(1)", Range{2, Range::kHighest}, 16);
  context->add_symbol("i2", "L[\"n\"]", Range::all(), -3);
}

std::string simplified(std::string_view input) {
  Context context;
  add_symbols(&context);
  ParsedExpr parsed = parse_expr(context, input);
  if (!parsed.error.empty()) return "error at " + std::to_string(parsed.end) + ": " + parsed.error;
  if (parsed.end != input.size()) return "rest: " + std::string(input.substr(parsed.end));
  return text(context, parsed.expr);
}

struct Example {
  const char* input;
  const char* output;
};

class Simplification : public testing::TestWithParam<Example> {};

TEST_P(Simplification, GivesTheCanonicalForm) { EXPECT_EQ(simplified(GetParam().input), GetParam().output); }

INSTANTIATE_TEST_SUITE_P(Sums, Simplification,
                         testing::Values(Example{"s1 + s0 + 1 + s0", "2*s0 + s1 + 1"},
                                         Example{"s0 - s0", "0"}, Example{"(s0 + 1)*(s0 - 1)", "s0*s0 - 1"},
                                         Example{"-s0", "-s0"}, Example{"2*(s0 + s1)*3", "6*s0 + 6*s1"},
                                         Example{"s1*s0 - s0*s1", "0"}, Example{"0*s0 + 5", "5"},
                                         Example{"3 - 2*s0", "-2*s0 + 3"}));
INSTANTIATE_TEST_SUITE_P(
    Divisions, Simplification,
    testing::Values(Example{"(4*s0 + 3)//4", "s0"}, Example{"(4*s0 + s1 + 9)//4", "s0 + (s1 + 1)//4 + 2"},
                    Example{"s0*s1//s1", "s0"}, Example{"(2*s0 + 2*s1)//(s0 + s1)", "2"},
                    Example{"s0//2//3", "s0//6"}, Example{"(s0//2 + 1)//3", "(s0 + 2)//6"},
                    Example{"2*s0//4", "s0//2"}, Example{"7//2", "3"}, Example{"-7//2", "-4"},
                    Example{"s0//-2", "(-s0)//2"}, Example{"s0 % 1", "0"}, Example{"(8*s0 + 5) % 8", "5"},
                    Example{"4*s0 % 8", "4*(s0 % 2)"}, Example{"s0*s1 % s0", "0"},
                    Example{"(s0 % 4) % 4", "s0 % 4"}, Example{"(s0 % 4)//4", "0"}, Example{"i2//0", "i2//0"},
                    Example{"(s0*s1 + i2)//s1", "s0 + i2//s1"}));
INSTANTIATE_TEST_SUITE_P(Extrema, Simplification,
                         testing::Values(Example{"min(s0, s0 + 1)", "s0"}, Example{"max(s0, 1)", "s0"},
                                         Example{"min(s0, min(s1, 8), 9)", "min(8, s0, s1)"},
                                         Example{"max(min(s0, 5), 2)", "min(5, s0)"},
                                         Example{"min(i2, i2)", "i2"}));
INSTANTIATE_TEST_SUITE_P(
    Comparisons, Simplification,
    testing::Values(Example{"s0 == 1", "0"}, Example{"s0 != 0", "1"}, Example{"2 <= s0", "1"},
                    Example{"s0 < 2", "0"}, Example{"s0 < 512", "s0 <= 511"}, Example{"3 <= s0", "3 <= s0"},
                    Example{"s1 == s0", "s0 == s1"}, Example{"s0 < s1", "s0 < s1"},
                    Example{"2*s0 == 2*s1 + 4", "s0 == s1 + 2"}, Example{"2*s0 == 2*s1 + 3", "0"},
                    Example{"3*s0 <= 10", "s0 <= 3"}, Example{"s0 % 8 == 0", "s0 % 8 == 0"},
                    Example{"s0*s1 <= i2 + 1", "s0*s1 <= i2 + 1"}, Example{"0 == i2", "i2 == 0"}));
INSTANTIATE_TEST_SUITE_P(Errors, Simplification,
                         testing::Values(Example{"s0 +",
                                                 "error at 4: expected a number, a symbol or a parenthesis"},
                                         Example{"(s0", "error at 3: expected ')'"},
                                         Example{"s9", "error at 0: unknown symbol 's9'"},
                                         Example{"99999999999999999999", "error at 0: number out of range"},
                                         Example{"s0 @", "rest:  @"}));

TEST(ShapeExpr, DeepNestingIsAnError) {
  std::string deep(100000, '(');
  EXPECT_NE(simplified(deep).find("nested too deeply"), std::string::npos);
}

// A plain tree, evaluated without any rewriting.
struct Tree {
  char op;  // 'n' number, 's' symbol, or + - * / % m M = ! < L
  int64_t number = 0;
  std::unique_ptr<Tree> a, b;
};

std::unique_ptr<Tree> random_tree(std::mt19937& random, int depth, bool predicate = false) {
  auto tree = std::make_unique<Tree>();
  auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  if (predicate) {
    tree->op = "=!<L"[pick(4)];
  } else if (depth == 0 || pick(6) == 0) {
    tree->op = pick(3) == 0 ? 'n' : 's';
    tree->number = tree->op == 'n' ? pick(13) - 4 : pick(3);
    return tree;
  } else {
    tree->op = "++-**//%mM"[pick(10)];
  }
  tree->a = random_tree(random, depth - 1);
  tree->b = random_tree(random, depth - 1);
  return tree;
}

std::optional<int64_t> plain(const Tree& t, std::span<const int64_t> bindings) {
  if (t.op == 'n') return t.number;
  if (t.op == 's') return bindings[static_cast<size_t>(t.number)];
  auto a = plain(*t.a, bindings), b = plain(*t.b, bindings);
  if (!a || !b || ((t.op == '/' || t.op == '%') && *b == 0)) return std::nullopt;
  switch (t.op) {
    case '+':
      return *a + *b;
    case '-':
      return *a - *b;
    case '*':
      return *a * *b;
    case '/':
      return static_cast<int64_t>(std::floor(static_cast<long double>(*a) / static_cast<long double>(*b)));
    case '%':
      return *a - *b * static_cast<int64_t>(
                           std::floor(static_cast<long double>(*a) / static_cast<long double>(*b)));
    case 'm':
      return std::min(*a, *b);
    case 'M':
      return std::max(*a, *b);
    case '=':
      return *a == *b;
    case '!':
      return *a != *b;
    case '<':
      return *a < *b;
    default:
      return *a <= *b;
  }
}

ExprId build(const Tree& t, ExprTable& e) {
  if (t.op == 'n') return e.constant(t.number);
  if (t.op == 's') return e.symbol(static_cast<uint32_t>(t.number));
  ExprId a = build(*t.a, e), b = build(*t.b, e);
  switch (t.op) {
    case '+':
      return e.add(a, b);
    case '-':
      return e.sub(a, b);
    case '*':
      return e.mul(a, b);
    case '/':
      return e.floordiv(a, b);
    case '%':
      return e.mod(a, b);
    case 'm':
      return e.min(a, b);
    case 'M':
      return e.max(a, b);
    case '=':
      return e.eq(a, b);
    case '!':
      return e.ne(a, b);
    case '<':
      return e.lt(a, b);
    default:
      return e.le(a, b);
  }
}

TEST(ShapeExpr, RandomExpressionsKeepTheirValueAndTheirText) {
  std::mt19937 random(20261115);
  int defined = 0;
  for (int round = 0; round < 4000; ++round) {
    Context context;
    add_symbols(&context);
    auto tree = random_tree(random, 3, round % 3 == 0);
    ExprId expr = build(*tree, context.exprs());
    std::string printed = text(context, expr);
    Postfix postfix;
    const size_t compiled = postfix.add(context, expr);

    for (int trial = 0; trial < 20; ++trial) {
      const int64_t bindings[] = {2 + static_cast<int64_t>(random() % 9),
                                  2 + static_cast<int64_t>(random() % 40),
                                  static_cast<int64_t>(random() % 21) - 10};
      auto expected = plain(*tree, bindings);
      if (!expected) continue;
      ++defined;
      auto found = context.exprs().evaluate(expr, bindings);
      ASSERT_EQ(found, expected) << printed << " at " << bindings[0] << ", " << bindings[1] << ", "
                                 << bindings[2];
      ASSERT_EQ(postfix.evaluate(compiled, bindings), expected) << printed;
      ASSERT_TRUE(context.exprs()[expr].range.contains(*expected)) << printed;
      if (round % 3 == 0) {
        auto negated = context.exprs().evaluate(context.exprs().negate(expr), bindings);
        ASSERT_EQ(negated, 1 - *expected) << printed;
      }
    }

    ParsedExpr again = parse_expr(context, printed);
    ASSERT_EQ(again.error, "") << printed;
    ASSERT_EQ(again.expr, expr) << printed << " became " << text(context, again.expr);
    ASSERT_EQ(simplified(printed), printed);
  }
  EXPECT_GT(defined, 40000);
}

TEST(ShapeExpr, PostfixCodeOfDeepExpressions) {
  Context context;
  add_symbols(&context);
  ExprTable& exprs = context.exprs();
  ExprId deep = exprs.symbol(0);
  for (int i = 0; i < 60; ++i) deep = exprs.floordiv(exprs.symbol(1), exprs.add(deep, exprs.constant(1)));
  Postfix postfix;
  const size_t shallow = postfix.add(context, exprs.symbol(1));
  const size_t compiled = postfix.add(context, deep);
  const size_t last = postfix.add(context, exprs.constant(7));
  const int64_t bindings[] = {3, 5, 7};
  EXPECT_EQ(postfix.evaluate(shallow, bindings), 5);
  EXPECT_EQ(postfix.evaluate(compiled, bindings), exprs.evaluate(deep, bindings));
  EXPECT_EQ(postfix.evaluate(last, bindings), 7);
}

TEST(ShapeExpr, ChecksAreThoseOfTheContext) {
  Context context;
  const Dim n = context.size_symbol(8, "n");
  ExprTable& exprs = context.exprs();
  context.decide(exprs.le(n.expr(), exprs.constant(100)));
  context.decide(exprs.eq(exprs.mod(n.expr(), exprs.constant(2)), exprs.constant(0)));
  const SymbolChecks checks(context);
  Bindings bindings;
  for (int64_t value : {0, 1, 2, 3, 8, 99, 100, 101, 102}) {
    bindings.ints[0] = value;
    EXPECT_EQ(checks.first_failure(bindings), context.first_failure(bindings)) << value;
  }
}

}  // namespace
}  // namespace stator::shape
