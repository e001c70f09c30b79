// tests/core/python_integers_test.cpp: sizes and expressions against integers that never wrap, over all 64
// bits and both ends.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <stdexcept>

#include "core/shape/postfix.h"
#include "core/shape/size.h"
#include "core/shape/text.h"

namespace stator::shape {
namespace {

__extension__ typedef __int128 Integer;

constexpr int64_t k31 = int64_t{1} << 31, k52 = int64_t{1} << 52, k62 = int64_t{1} << 62;
constexpr int64_t kPool[] = {0,
                             1,
                             2,
                             3,
                             5,
                             7,
                             8,
                             17,
                             31,
                             64,
                             1000003,
                             k31 - 1,
                             k31,
                             k31 + 1,
                             2 * k31,
                             k52,
                             k62,
                             k62 - 1,
                             INT64_MAX,
                             -1,
                             -2,
                             -3,
                             -7,
                             -8,
                             -k31,
                             -k31 - 1,
                             -k52,
                             -k62 + 3,
                             INT64_MAX - 1,
                             INT64_MIN,
                             INT64_MIN + 1};
constexpr Range kRanges[] = {{2, Range::kHighest},
                             Range::all(),
                             {-k31, k31},
                             {2, 1 << 20},
                             {0, k62},
                             {Range::kLowest, -1},
                             {-5, 9},
                             {INT64_MAX, INT64_MAX},
                             {INT64_MIN, INT64_MIN}};

template <class Items>
auto pick(std::mt19937& random, const Items& items) {
  return items[random() % std::size(items)];
}

// Mostly an end or a neighbour of one, else any digits.
int64_t number(std::mt19937& random) {
  if (random() % 4 != 0) return pick(random, kPool);
  const auto digits = static_cast<int64_t>((uint64_t{random()} << 32) ^ random());
  return digits >> (random() % 63);
}

int64_t number_in(std::mt19937& random, Range range) {
  for (int i = 0; i < 50; i++) {
    const int64_t chosen = number(random);
    if (range.contains(chosen)) return chosen;
  }
  return random() % 2 == 0 ? range.low : range.high;
}

struct Tree {
  char op;  // 'n' number, 's' symbol, + - * / % m M
  int64_t number = 0;
  std::unique_ptr<Tree> a, b;
};

std::unique_ptr<Tree> random_tree(std::mt19937& random, int depth) {
  auto tree = std::make_unique<Tree>();
  if (depth == 0 || random() % 5 == 0) {
    tree->op = random() % 3 == 0 ? 'n' : 's';
    tree->number = tree->op == 'n' ? number(random) : static_cast<int64_t>(random() % 3);
    return tree;
  }
  tree->op = "++--**//%%mM"[random() % 12];
  tree->a = random_tree(random, depth - 1);
  tree->b = random_tree(random, depth - 1);
  return tree;
}

// nullopt: division by zero, or beyond the digits of this test.
std::optional<Integer> calculate(char op, Integer a, Integer b) {
  Integer result = 0;
  switch (op) {
    case '+':
      return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case '-':
      return __builtin_sub_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case '*':
      return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case 'm':
      return std::min(a, b);
    case 'M':
      return std::max(a, b);
    default:
      break;
  }
  if (b == 0 || (b == -1 && a == -a && a != 0)) return std::nullopt;
  const Integer rest = a % b, rounded = a / b;
  const bool down = rest != 0 && (rest < 0) != (b < 0);
  return op == '/' ? rounded - (down ? 1 : 0) : rest + (down ? b : 0);
}

std::optional<Integer> plain(const Tree& t, const int64_t* bindings) {
  if (t.op == 'n') return t.number;
  if (t.op == 's') return bindings[t.number];
  const auto a = plain(*t.a, bindings), b = plain(*t.b, bindings);
  return a && b ? calculate(t.op, *a, *b) : std::nullopt;
}

template <class Number, class FloorDiv>
Number combine(char op, const Number& a, const Number& b, FloorDiv&& divided) {
  switch (op) {
    case '+':
      return a + b;
    case '-':
      return a - b;
    case '*':
      return a * b;
    case 'm':
      return min(a, b);
    case 'M':
      return max(a, b);
    default:
      return divided(op, a, b);
  }
}

// As a shape rule calculates: divisors are asked for first. nullopt: it is 0.
std::optional<Size> build(const Tree& t, const Size* symbols) {
  if (t.op == 'n') return Size(t.number);
  if (t.op == 's') return symbols[t.number];
  const auto a = build(*t.a, symbols), b = build(*t.b, symbols);
  if (!a || !b) return std::nullopt;
  if ((t.op == '/' || t.op == '%') && *b == 0) return std::nullopt;
  return combine(t.op, *a, *b, [](char op, Size x, Size y) { return op == '/' ? floordiv(x, y) : x % y; });
}

ExprId build(const Tree& t, ExprTable& e) {
  if (t.op == 'n') return e.constant(t.number);
  if (t.op == 's') return e.symbol(static_cast<uint32_t>(t.number));
  const ExprId a = build(*t.a, e), b = build(*t.b, e);
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
    default:
      return e.max(a, b);
  }
}

struct Draw {
  Range ranges[3];
  int64_t bindings[3];
};

Draw draw(std::mt19937& random) {
  Draw result;
  for (int i = 0; i < 3; i++) {
    result.ranges[i] = pick(random, kRanges);
    result.bindings[i] = number_in(random, result.ranges[i]);
  }
  return result;
}

std::string shown(const Draw& d, const int64_t* bindings) {
  std::string result;
  for (int i = 0; i < 3; i++)
    result += " s" + std::to_string(i) + " = " + std::to_string(bindings[i]) + " in [" +
              std::to_string(d.ranges[i].low) + ", " + std::to_string(d.ranges[i].high) + "]";
  return result;
}

// A number may be one that a Dim takes for an expression.
std::string shown(const Context& context, const Size& size) {
  return size.is_symbolic() ? text(context, size.dim()) : std::to_string(size.dim().number());
}

// Whatever an expression was rewritten to, its value is that of the plain one, or it has none.
TEST(PythonIntegers, RewritingKeepsTheValue) {
  std::mt19937 random(20261116);
  int evaluated = 0;
  for (int round = 0; round < 60000; ++round) {
    const Draw d = draw(random);
    Context context;
    for (int i = 0; i < 3; i++) context.add_symbol("s" + std::to_string(i), "", d.ranges[i], d.bindings[i]);
    const auto tree = random_tree(random, 1 + static_cast<int>(random() % 3));
    ExprTable& exprs = context.exprs();
    const ExprId expr = build(*tree, exprs);
    Postfix postfix;
    const size_t compiled = postfix.add(context, expr);
    for (int trial = 0; trial < 4; trial++) {
      int64_t bindings[3];
      for (int i = 0; i < 3; i++) bindings[i] = trial == 0 ? d.bindings[i] : number_in(random, d.ranges[i]);
      const auto expected = plain(*tree, bindings);
      const auto found = exprs.evaluate(expr, bindings);
      const std::string where = text(context, expr) + shown(d, bindings);
      ASSERT_EQ(postfix.evaluate(compiled, bindings), found) << where;
      if (!expected) continue;
      const Range range = exprs[expr].range;
      ASSERT_TRUE((range.low == INT64_MIN || range.low <= *expected) &&
                  (range.high == INT64_MAX || *expected <= range.high))
          << where << ": " << static_cast<double>(*expected) << " is not in its range";
      if (trial == 0) {
        ASSERT_EQ(exprs[expr].has_hint, found.has_value()) << where;
        if (found) {
          ASSERT_EQ(exprs[expr].hint, *found) << where;
        }
      }
      if (!found) continue;
      ASSERT_TRUE(*found == *expected)
          << where << ": " << *found << " for " << static_cast<double>(*expected);
      evaluated++;
    }
  }
  EXPECT_GT(evaluated, 60000);
}

// Truth is that of the plain comparison; so is the opposite's.
TEST(PythonIntegers, ComparisonsAreExact) {
  std::mt19937 random(20261117);
  int evaluated = 0;
  for (int round = 0; round < 60000; ++round) {
    const Draw d = draw(random);
    Context context;
    for (int i = 0; i < 3; i++) context.add_symbol("s" + std::to_string(i), "", d.ranges[i], d.bindings[i]);
    ExprTable& exprs = context.exprs();
    const auto left = random_tree(random, static_cast<int>(random() % 3)),
               right = random_tree(random, static_cast<int>(random() % 2));
    const ExprId a = build(*left, exprs), b = build(*right, exprs);
    const ExprId predicates[] = {exprs.eq(a, b), exprs.ne(a, b), exprs.lt(a, b), exprs.le(a, b)};
    for (int trial = 0; trial < 4; trial++) {
      int64_t bindings[3];
      for (int i = 0; i < 3; i++) bindings[i] = number_in(random, d.ranges[i]);
      const auto x = plain(*left, bindings), y = plain(*right, bindings);
      if (!x || !y) continue;
      const bool truths[] = {*x == *y, *x != *y, *x < *y, *x <= *y};
      for (int i = 0; i < 4; i++) {
        const std::string where = std::to_string(i) + ": " + text(context, a) + " and " + text(context, b) +
                                  " give " + text(context, predicates[i]) + shown(d, bindings);
        if (const auto found = exprs.evaluate(predicates[i], bindings)) {
          ASSERT_EQ(*found, truths[i]) << where;
          evaluated++;
        }
        if (const auto found = exprs.evaluate(exprs.negate(predicates[i]), bindings)) {
          ASSERT_EQ(*found, !truths[i]) << where;
        }
      }
    }
  }
  EXPECT_GT(evaluated, 200000);
}

// The contract of a capture: a call that passes the guards computes what the program would.
TEST(PythonIntegers, WhatPassesTheGuardsIsComputedExactly) {
  std::mt19937 random(20261118);
  int served = 0, refused = 0;
  for (int round = 0; round < 60000; ++round) {
    const Draw d = draw(random);
    Context context;
    Size symbols[3];
    for (int i = 0; i < 3; i++) {
      const std::string name = "s" + std::to_string(i);
      symbols[i] = Size(context.add_symbol(name, name, d.ranges[i], d.bindings[i]), &context);
    }
    const auto left = random_tree(random, 1 + static_cast<int>(random() % 2)),
               right = random_tree(random, static_cast<int>(random() % 2));
    std::optional<Size> a, b;
    bool truths[4];
    try {
      a = build(*left, symbols), b = build(*right, symbols);
      if (!a || !b) continue;
      truths[0] = *a == *b, truths[1] = !(*a == *b), truths[2] = *a < *b, truths[3] = *a <= *b;
    } catch (const std::overflow_error&) {
      refused++;
      continue;
    }
    for (int trial = 0; trial < 6; trial++) {
      int64_t bindings[3];
      for (int i = 0; i < 3; i++) bindings[i] = trial == 0 ? d.bindings[i] : number_in(random, d.ranges[i]);
      const bool passes = !context.first_failure(bindings);
      const std::string where = shown(context, *a) + " and " + shown(context, *b) + shown(d, bindings);
      Bindings call;
      std::copy_n(bindings, 3, call.ints.begin());
      ASSERT_EQ(!SymbolChecks(context).first_failure(call), passes) << where;
      if (trial == 0) {
        ASSERT_TRUE(passes) << where;
      }
      if (!passes) continue;
      const auto x = plain(*left, bindings), y = plain(*right, bindings);
      if (!x || !y) continue;
      for (const auto& [size, expected] : {std::pair(*a, *x), std::pair(*b, *y)}) {
        const auto found =
            size.is_symbolic() ? context.evaluate(size.dim(), bindings) : std::optional(size.dim().number());
        ASSERT_TRUE(found) << where;
        ASSERT_TRUE(*found == expected) << where << ": " << *found;
      }
      const bool expected[] = {*x == *y, *x != *y, *x < *y, *x <= *y};
      for (int i = 0; i < 4; i++) {
        ASSERT_EQ(truths[i], expected[i]) << where << " comparison " << i;
      }
      served++;
    }
  }
  EXPECT_GT(served, 60000);
  EXPECT_GT(refused, 100);
}

TEST(PythonIntegers, RangesContainWhatTheySay) {
  for (const Range a : kRanges) {
    for (const Range b : kRanges) {
      const Range results[] = {a + b, a * b, floordiv(a, b), mod(a, b), min(a, b), max(a, b)};
      for (const int64_t x : kPool) {
        for (const int64_t y : kPool) {
          if (!a.contains(x) || !b.contains(y)) continue;
          for (int i = 0; i < 6; i++) {
            const auto value = calculate("+*/%mM"[i], x, y);
            if (!value) continue;
            ASSERT_TRUE((results[i].low == INT64_MIN || results[i].low <= *value) &&
                        (results[i].high == INT64_MAX || *value <= results[i].high))
                << "+*/%mM"[i] << " of " << x << ", " << y;
          }
        }
      }
    }
  }
}

// An open end of a slice, for every size that there is.
TEST(PythonIntegers, OpenEndsAreBeyondEverySize) {
  Context context;
  const Size n(context.size_symbol(8, "x.size(0)"), &context);
  EXPECT_FALSE(Size(INT64_MAX) < n - 2);
  EXPECT_TRUE(Size(INT64_MAX) > n);
  EXPECT_TRUE(Size(INT64_MIN) < n);
  EXPECT_FALSE(Size(INT64_MAX) == n);
  EXPECT_TRUE(min(Size(INT64_MAX), n).dim() == n.dim());
  EXPECT_TRUE(max(Size(INT64_MIN), n).dim() == n.dim());
  EXPECT_TRUE(context.guards().empty());
}

TEST(PythonIntegers, ProductsOfSizesThatOverflowFailAGuard) {
  Context context;
  const Size n(context.size_symbol(8, "a"), &context), m(context.size_symbol(9, "b"), &context);
  const Size both = n * m;
  EXPECT_TRUE(context.guards().empty());  // by their ranges
  const Size many = both * both * both * both;
  const int64_t small[] = {100, 100}, large[] = {1000000, 1000000};
  EXPECT_EQ(context.first_failure(small), std::nullopt);
  EXPECT_TRUE(context.first_failure(large).has_value());
  EXPECT_EQ(context.evaluate(many.dim(), small), 10000000000000000);
}

// Loops that double an expression would make it longer than memory.
TEST(PythonIntegers, LongExpressionsAreSpecialised) {
  Context context;
  Size h(context.size_symbol(8, "a"), &context);
  for (int i = 0; i < 200; i++) h = (h * h + 3) % Size(1000003);
  Integer plain = 8;
  for (int i = 0; i < 200; i++) plain = (plain * plain + 3) % 1000003;
  EXPECT_EQ(h.specialize(), static_cast<int64_t>(plain));
  const int64_t other[] = {9};
  EXPECT_TRUE(context.first_failure(other).has_value());
}

}  // namespace
}  // namespace stator::shape
