// tests/core/functional_form_test.cpp: writes as values, composites as what they are made of; text in, text
// out.
#include "core/pass/functional_form.h"

#include <gtest/gtest.h>

#include "core/ir/parse.h"
#include "core/ir/print.h"
#include "core/ir/verify.h"
#include "core/pass/decompose.h"

namespace stator::pass {
namespace {

constexpr std::string_view kOperators = R"g(
  operator aten::add.Tensor(self, other, *, alpha) pure
  operator aten::add_.Scalar(self!, other, alpha)
  operator aten::eq_.Scalar(self!, other)
  operator aten::pow_.Scalar(self!, exponent)
  operator aten::t_(self!)
  operator aten::select.int(self, dim, index) pure
  operator aten::view(self, size) pure
  operator aten::hardsigmoid(self) pure
  operator aten::threshold(self, threshold, value) pure
)g";

std::string body_of(const ir::Graph& graph) {
  const std::string text = ir::print(graph);
  return "\n" + text.substr(8, text.size() - 10);
}

ir::Graph parsed(std::string_view body) {
  auto graph = ir::parse("graph {" + std::string(kOperators) + std::string(body) + "}\n");
  EXPECT_TRUE(graph) << graph.error().text();
  return std::move(*graph);
}

std::string functional(std::string_view body) {
  const auto form = functional_form(parsed(body));
  if (!form) return form.error();
  if (auto error = ir::verify(form->graph)) return *error;
  std::string written;
  for (size_t input : form->written) written += " " + std::to_string(input);
  return body_of(form->graph) + "written:" + written;
}

TEST(FunctionalForm, AWriteThroughAViewMakesANewBase) {
  EXPECT_EQ(functional(R"g(
  %0: f32[2,3]{3,1} = input x
  %1: f32[3]{1} view(%0) = aten::select.int(%0, 0, 1)
  %2: f32[3]{1} same(%1) = aten::add_.Scalar(%1, 1, 1)
  %3: f32[2,3]{3,1} = aten::add.Tensor(%0, %0, alpha=1)
  return %3
)g"),
            R"g(
  %0: f32[2,3]{3,1} = input x
  %1: f32[3]{1} = aten::select.int(%0, 0, 1)
  %2: f32[3]{1} = aten::add.Scalar(%1, 1, 1)
  %3: f32[2,3]{3,1} = aten::select_scatter(%0, %2, 0, 1)
  %4: f32[2,3]{3,1} = aten::add.Tensor(%3, %3, alpha=1)
  return %4, %3
written: 0)g");
}

TEST(FunctionalForm, AViewIsMadeAgainAfterAWriteToItsBase) {
  EXPECT_EQ(functional(R"g(
  %0: f32[2,3]{3,1} = input x
  %1: f32[6]{1} view(%0) = aten::view(%0, [6])
  %2: f32[2,3]{3,1} same(%0) = aten::add_.Scalar(%0, 1, 1)
  %3: f32[6]{1} = aten::add.Tensor(%1, %1, alpha=1)
  return %3
)g"),
            R"g(
  %0: f32[2,3]{3,1} = input x
  %1: f32[6]{1} = aten::view(%0, [6])
  %2: f32[2,3]{3,1} = aten::add.Scalar(%0, 1, 1)
  %3: f32[6]{1} = aten::reshape(%2, [6])
  %4: f32[6]{1} = aten::add.Tensor(%3, %3, alpha=1)
  return %4, %2
written: 0)g");
}

TEST(FunctionalForm, AComparisonInPlaceKeepsTheType) {
  EXPECT_EQ(functional(R"g(
  %0: f32[2]{1} = input x
  %1: f32[2]{1} same(%0) = aten::eq_.Scalar(%0, 1)
  return %1
)g"),
            R"g(
  %0: f32[2]{1} = input x
  %1: bool[2]{1} = aten::eq.Scalar(%0, 1)
  %2: f32[2]{1} = aten::to.dtype(%1, dtype(f32), false, false, none)
  return %2
written: 0)g");
}

TEST(FunctionalForm, OtherNamesComeFromTheTable) {
  EXPECT_NE(functional(R"g(
  %0: f32[2]{1} = input x
  %1: f32[2]{1} same(%0) = aten::pow_.Scalar(%0, 3)
  return %1
)g")
                .find("aten::pow.Tensor_Scalar(%0, 3)"),
            std::string::npos);
}

TEST(FunctionalForm, AChangeOfSizesIsRefused) {
  EXPECT_EQ(functional(R"g(
  %0: f32[2,2]{2,1} = input x
  %1: f32[2,2]{2,1} same(%0) = aten::t_(%0)
  return %1
)g"),
            "the operator aten::t_");
}

TEST(FunctionalForm, ResultsThatShareMemoryAreViewsOfTheirBase) {
  const auto form = functional_form(parsed(R"g(
  %0: f32[2,2]{2,1} = input x
  %1: f32[2,2]{2,1} = aten::add.Tensor(%0, %0, alpha=1)
  %2: f32[2]{1}+2 view(%1) = aten::select.int(%1, 0, 1)
  %3: f32[2]{1}+2 same(%2) = aten::add_.Scalar(%2, 3, 1)
  return %3, %0, %1
)g"));
  ASSERT_TRUE(form) << form.error();
  using Kind = FormResult::Kind;
  ASSERT_EQ(form->results.size(), 3u);
  EXPECT_EQ(form->graph.outputs().size(), 1u);  // the base, after the write
  EXPECT_EQ(form->results[0].kind, Kind::kView);
  EXPECT_EQ(form->results[0].index, 0u);
  EXPECT_EQ(form->results[0].sizes, std::vector<int64_t>{2});
  EXPECT_EQ(form->results[0].strides, std::vector<int64_t>{1});
  EXPECT_EQ(form->results[0].offset, 2);
  EXPECT_EQ(form->results[1].kind, Kind::kInput);
  EXPECT_EQ(form->results[2].kind, Kind::kMade);
  EXPECT_EQ(form->results[2].index, 0u);
}

std::string decomposed(std::string_view body, bool keeps = false) {
  const ir::Graph graph = decompose(parsed(body), [keeps](std::string_view) { return keeps; });
  if (auto error = ir::verify(graph)) return *error;
  return body_of(graph);
}

constexpr std::string_view kHardsigmoid = R"g(
  %0: f32[2]{1} = input x
  %1: f32[2]{1} = aten::hardsigmoid(%0)
  return %1
)g";

TEST(Decompose, WritesACompositionOut) {
  EXPECT_EQ(decomposed(kHardsigmoid), R"g(
  %0: f32[2]{1} = input x
  %1: f32[2] = aten::add.Scalar(%0, 3, 1)
  %2: f32[2] = aten::clamp(%1, 0, 6)
  %3: f32[2]{1} = aten::div.Scalar(%2, 6)
  return %3
)g");
}

TEST(Decompose, LeavesWholeWhatABackendKnows) { EXPECT_EQ(decomposed(kHardsigmoid, true), kHardsigmoid); }

TEST(Decompose, RoundsOnceInSixteenBits) {
  EXPECT_EQ(decomposed(R"g(
  %0: bf16[2]{1} = input x
  %1: bf16[2]{1} = aten::threshold(%0, 0.5, 2)
  return %1
)g"),
            R"g(
  %0: bf16[2]{1} = input x
  %1: f32[2] = aten::to.dtype(%0, dtype(f32), false, false, none)
  %2: bool[2] = aten::le.Scalar(%1, 0.5)
  %3: f32[2] = aten::masked_fill.Scalar(%1, %2, 2)
  %4: bf16[2]{1} = aten::to.dtype(%3, dtype(bf16), false, false, none)
  return %4
)g");
}

}  // namespace
}  // namespace stator::pass
