// tests/core/out_of_place_test.cpp: which writes become functions, text in and text out.
#include "core/pass/out_of_place.h"

#include <gtest/gtest.h>

#include "core/ir/parse.h"
#include "core/ir/print.h"
#include "core/ir/verify.h"

namespace stator::pass {
namespace {

constexpr std::string_view kOperators = R"g(
  operator aten::relu_(self!)
  operator aten::bernoulli_.float(self!, p) random
  operator aten::neg(self) pure
  operator aten::t(self) pure
)g";

std::string after(std::string_view body) {
  auto graph = ir::parse("graph {" + std::string(kOperators) + std::string(body) + "}\n");
  if (!graph) return graph.error().text();
  write_out_of_place(*graph);
  if (auto error = ir::verify(*graph)) return "after: " + *error;
  const std::string text = ir::print(*graph);
  const size_t first = text.find("  %");
  return "\n" + text.substr(first, text.size() - first - 2);
}

TEST(OutOfPlace, RewritesWhatNobodyElseSees) {
  EXPECT_EQ(after(R"g(
  %0: f32[2]{1} = input x
  %1: f32[2]{1} = aten::neg(%0)
  %2: f32[2]{1} same(%1) = aten::bernoulli_.float(%1, 0.5)
  %3: f32[2]{1} same(%2) = aten::relu_(%2)
  %4: f32[2]{1} view(%3) = aten::t(%3)
  return %4
)g"),
            R"g(
  %0: f32[2]{1} = input x
  %1: f32[2]{1} = aten::neg(%0)
  %2: f32[2]{1} = aten::bernoulli.p(%1, 0.5)
  %3: f32[2]{1} = aten::relu(%2)
  %4: f32[2]{1} view(%3) = aten::t(%3)
  return %4
)g");
}

void expect_same(std::string_view body) { EXPECT_EQ(after(body), body); }

TEST(OutOfPlace, KeepsWritesToArguments) {
  expect_same(R"g(
  %0: f32[2]{1} = input x
  %1: f32[2]{1} same(%0) = aten::relu_(%0)
  return %1
)g");
}

TEST(OutOfPlace, KeepsWritesThatAViewSees) {
  expect_same(R"g(
  %0: f32[2]{1} = input x
  %1: f32[2]{1} = aten::neg(%0)
  %2: f32[2]{1} view(%1) = aten::t(%1)
  %3: f32[2]{1} same(%1) = aten::relu_(%1)
  return %2
)g");
}

TEST(OutOfPlace, KeepsWritesThroughViews) {
  expect_same(R"g(
  %0: f32[2]{1} = input x
  %1: f32[2]{1} = aten::neg(%0)
  %2: f32[2]{1} view(%1) = aten::t(%1)
  %3: f32[2]{1} same(%2) = aten::relu_(%2)
  %4: f32[2]{1} = aten::neg(%3)
  return %4
)g");
}

}  // namespace
}  // namespace stator::pass
