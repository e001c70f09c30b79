// tests/core/passes_test.cpp: what each pass removes and what it must keep, text in and text out.
#include <gtest/gtest.h>

#include "core/ir/parse.h"
#include "core/ir/print.h"
#include "core/ir/verify.h"
#include "core/pass/common_subexpressions.h"
#include "core/pass/dead_code.h"
#include "core/pass/fold_constants.h"
#include "core/pass/last_use.h"
#include "core/pass/pipeline.h"

namespace stator::pass {
namespace {

// Operators of the examples; their effects are as torch's.
constexpr std::string_view kOperators = R"g(
  operator aten::add.Tensor(self, other, *, alpha) pure
  operator aten::mul.Scalar(self, other) pure
  operator aten::mul_.Scalar(self!, other)
  operator aten::relu(self) pure
  operator aten::view(self, size) pure
  operator aten::split(self, size) pure list
  operator aten::cat(tensors, dim) pure
  operator aten::rand(size) random
  operator aten::dropout(input, p, train) random
  operator aten::embedding(weight, indices) pure
  operator aten::batch_norm(input, weight, bias, mean, var, training, momentum, eps, cudnn) pure
  operator aten::zeros(size) pure
  operator aten::foreach_add_(self!, other)
)g";

std::string after(std::string_view body, const std::function<void(ir::Graph&)>& pass) {
  auto graph = ir::parse("graph {" + std::string(kOperators) + std::string(body) + "}\n");
  if (!graph) return graph.error().text();
  if (auto error = ir::verify(*graph)) return "before: " + *error;
  pass(*graph);
  if (auto error = ir::verify(*graph)) return "after: " + *error;
  std::string text = ir::print(*graph);
  return "\n" + text.substr(8, text.size() - 10);
}

void expect_same(std::string_view body, const std::function<void(ir::Graph&)>& pass) {
  EXPECT_EQ(after(body, pass), body);
}

TEST(DeadCode, RemovesWhatNobodyUses) {
  EXPECT_EQ(after(R"g(
  %0: f32[2]{1} = input x
  %1: f32[2]{1} = aten::relu(%0)
  %2: f32[2]{1} = aten::relu(%1)
  %3: f32[2]{1} = aten::dropout(%2, 0.5, false)
  %4: f32[1]{1}, %5: f32[1]{1} = aten::split(%1, 1)
  %6: f32[2]{1} = aten::cat([%4, %5], 0)
  return %5
)g",
                  remove_dead_code),
            R"g(
  %0: f32[2]{1} = input x
  %1: f32[2]{1} = aten::relu(%0)
  %4: f32[1]{1}, %5: f32[1]{1} = aten::split(%1, 1)
  return %5
)g");
}

TEST(DeadCode, KeepsEffects) {
  expect_same(R"g(
  %0: f32[2]{1} = input x
  %1: f32[2]{1} = aten::rand([2])
  %2: f32[2]{1} = aten::dropout(%0, 0.5, true)
  %3: f32[2]{1} = aten::relu(%0)
  %4: f32[2]{1} same(%3) = aten::mul_.Scalar(%3, 2)
  stator::set_grad_enabled(false)
  %5: f32[2]{1} = aten::embedding(%0, %0)
  %6: f32[2]{1} = aten::batch_norm(%0, none, none, %0, %0, true, 0.1, 1e-05, false)
  %7: f32[2]{1} = other::unknown(%0)
  return
)g",
              remove_dead_code);
}

TEST(DeadCode, BatchNormWritesInTrainingOnly) {
  EXPECT_EQ(after(R"g(
  %0: f32[2]{1} = input x
  %1: f32[2]{1} = aten::batch_norm(%0, none, none, %0, %0, false, 0.1, 1e-05, false)
  return
)g",
                  remove_dead_code),
            R"g(
  %0: f32[2]{1} = input x
  return
)g");
}

TEST(CommonSubexpressions, MergesAndFollows) {
  EXPECT_EQ(after(R"g(
  %0: f32[2]{1} = input x
  %1: f32[2]{1} = aten::mul.Scalar(%0, 2)
  %2: f32[2]{1} = aten::mul.Scalar(%0, 2)
  %3: f32[2]{1} = aten::relu(%1)
  %4: f32[2]{1} = aten::relu(%2)
  %5: f32[1,2]{2,1} view(%4) = aten::view(%4, [1, 2])
  %6: f32[1,2]{2,1} view(%3) = aten::view(%3, [1, 2])
  %7: f32[2]{1} = aten::cat([%5, %6, %4], 0)
  return %7
)g",
                  merge_common_subexpressions),
            R"g(
  %0: f32[2]{1} = input x
  %1: f32[2]{1} = aten::mul.Scalar(%0, 2)
  %3: f32[2]{1} = aten::relu(%1)
  %5: f32[1,2]{2,1} view(%3) = aten::view(%3, [1, 2])
  %7: f32[2]{1} = aten::cat([%5, %5, %3], 0)
  return %7
)g");
}

class Kept : public testing::TestWithParam<const char*> {};

TEST_P(Kept, ByCommonSubexpressions) { expect_same(GetParam(), merge_common_subexpressions); }

INSTANTIATE_TEST_SUITE_P(CommonSubexpressions, Kept,
                         testing::Values(
                             // An argument is written, here through a view of it.
                             R"g(
  %0: f32[2]{1} = input x
  %1: f32[2]{1} = aten::relu(%0)
  %2: f32[2]{1} view(%0) = aten::view(%0, [2])
  %3: f32[2]{1} same(%2) = aten::mul_.Scalar(%2, 3)
  %4: f32[2]{1} = aten::relu(%0)
  %5: f32[2]{1} = aten::cat([%1, %4], 0)
  return %5
)g",
                             // A result is written, as an element of a list.
                             R"g(
  %0: f32[2]{1} = input x
  %1: f32[2]{1} = aten::relu(%0)
  %2: f32[2]{1} = aten::relu(%0)
  aten::foreach_add_([%1], 1)
  %3: f32[2]{1} = aten::cat([%1, %2], 0)
  return %3
)g",
                             // Graph outputs are different objects; so is the memory behind a view.
                             R"g(
  %0: f32[2]{1} = input x
  %1: f32[2]{1} = aten::relu(%0)
  %2: f32[2]{1} = aten::relu(%0)
  %3: f32[2]{1} view(%2) = aten::view(%2, [2])
  return %1, %3
)g",
                             // Merging changes the bits of gradients.
                             R"g(
  %0: f32[2]{1} grad = input x
  %1: f32[2]{1} grad = aten::mul.Scalar(%0, 0.1)
  %2: f32[2]{1} grad = aten::mul.Scalar(%0, 0.1)
  %3: f32[2]{1} grad = aten::cat([%1, %2], 0)
  return %3
)g",
                             // A mode changed in between.
                             R"g(
  %0: f32[2]{1} = input x
  %1: f32[2]{1} = aten::relu(%0)
  stator::autocast_enter(device(cpu), dtype(bf16), true, true)
  %2: f32[2]{1} = aten::relu(%0)
  %3: f32[2]{1} = aten::cat([%1, %2], 0)
  return %3
)g",
                             // Random numbers, and arguments that differ in kind or bits.
                             R"g(
  %0: f32[2]{1} = input x
  %1: f32[2]{1} = aten::rand([2])
  %2: f32[2]{1} = aten::rand([2])
  %3: f32[2]{1} = aten::mul.Scalar(%0, 0.0)
  %4: f32[2]{1} = aten::mul.Scalar(%0, -0.0)
  %5: f32[2]{1} = aten::mul.Scalar(%0, 0)
  %6: f32[2]{1} = aten::cat([%1, %2, %3, %4, %5], 0)
  return %6
)g",
                             // An unknown operator may write any input.
                             R"g(
  %0: f32[2]{1} = input x
  %1: f32[2]{1} = aten::relu(%0)
  other::unknown()
  %2: f32[2]{1} = aten::relu(%0)
  %3: f32[2]{1} = aten::cat([%1, %2], 0)
  return %3
)g"));

// Evaluates everything it is asked to and says what it was.
Folded evaluate(const ir::Graph& graph, const ir::Node& node) {
  return {std::make_shared<int>(), ir::node_text(graph, node)};
}
void fold(ir::Graph& graph) { fold_constants(graph, evaluate); }

TEST(FoldConstants, FoldsChainsOfConstants) {
  EXPECT_EQ(after(R"g(
  %0: f32[2]{1} = input x
  %1: f32[2]{1} = aten::zeros([2])
  %2: f32[1,2]{2,1} view(%1) = aten::view(%1, [1, 2])
  %3: f32[1,2]{2,1} = aten::relu(%2)
  %4: f32[1,2]{2,1} = aten::add.Tensor(%3, %0, alpha=1)
  return %4
)g",
                  fold),
            R"g(
  constant @0 "aten::zeros([2])"
  constant @1 "aten::view(%1, [1, 2])"
  constant @2 "aten::relu(%2)"
  %0: f32[2]{1} = input x
  %1: f32[2]{1} = stator::constant(@0)
  %2: f32[1,2]{2,1} = stator::constant(@1)
  %3: f32[1,2]{2,1} = stator::constant(@2)
  %4: f32[1,2]{2,1} = aten::add.Tensor(%3, %0, alpha=1)
  return %4
)g");
}

TEST(FoldConstants, KeepsWhatIsWrittenReturnedLargeRandomOrUnderAMode) {
  expect_same(R"g(
  %1: f32[2]{1} = aten::zeros([2])
  %2: f32[2]{1} same(%1) = aten::mul_.Scalar(%1, 2)
  %3: f32[2]{1} = aten::relu(%2)
  %4: f32[2]{1} = aten::zeros([2])
  %5: f32[1000000]{1} = aten::zeros([1000000])
  %6: f32[2]{1} = aten::rand([2])
  stator::set_default_dtype(dtype(f64))
  %7: f64[2]{1} = aten::zeros([2])
  %8: f32[2]{1} = aten::cat([%3, %5, %6, %7], 0)
  return %4, %8
)g",
              fold);
}

TEST(FoldConstants, TheEvaluatorMayRefuse) {
  expect_same(
      R"g(
  %1: f32[2]{1} = aten::zeros([2])
  %2: f32[2]{1} = aten::relu(%1)
  %3: f32[2]{1} = aten::relu(%2)
  return %3
)g",
      [](ir::Graph& graph) { fold_constants(graph, [](const auto&, const auto&) { return Folded(); }); });
}

TEST(LastUse, ValuesDieWhereEagerLetsThem) {
  auto graph = ir::parse(R"g(graph {
  %0: f32[2]{1} = input x
  %1: f32[2]{1} = input unused
  %2: f32[2]{1} = aten::relu(%0)
  %3: f32[2]{1}, %4: f32[2]{1} = my::pair(%2, %2)
  %5: f32[2]{1} = my::join([%3, %0], list(%2))
  my::nothing(%5)
  %6: f32[2]{1} = aten::relu(%5)
  return %6, %3
}
)g");
  ASSERT_TRUE(graph);
  LastUses uses(*graph);
  std::string text;
  for (uint32_t i = 0; i < graph->nodes().size(); ++i) {
    for (ir::ValueId id : uses.after(ir::NodeId{i})) text += std::to_string(index(id)) + " ";
    text += "| ";
  }
  EXPECT_EQ(text, "| 4 | 0 2 | | 5 | ");
}

TEST(Pipeline, RunsTimesAndVerifiesEachPass) {
  auto graph = ir::parse("graph {" + std::string(kOperators) + R"g(
  %0: f32[2]{1} = input x
  %1: f32[2]{1} = aten::zeros([2])
  %2: f32[2]{1} = aten::relu(%0)
  %3: f32[2]{1} = aten::relu(%0)
  %4: f32[2]{1} = aten::relu(%1)
  %5: f32[2]{1} = aten::cat([%2, %3, %4], 0)
  %6: f32[2]{1} = aten::relu(%5)
  return %5
}
)g");
  ASSERT_TRUE(graph);
  PipelineReport report = run_passes(*graph, {.evaluate = evaluate});
  EXPECT_EQ(report.error, std::nullopt);
  ASSERT_EQ(report.passes.size(), 4u);
  std::string counts;
  for (const PassRecord& record : report.passes)
    counts += record.pass + (" " + std::to_string(record.nodes_after)) + ", ";
  EXPECT_EQ(counts, "dead_code 5, fold_constants 5, common_subexpressions 4, dead_code 3, ");
  EXPECT_EQ(ir::print(*graph), R"g(graph {
  constant @0 "aten::zeros([2])"
  constant @1 "aten::relu(%1)"
  %0: f32[2]{1} = input x
  %2: f32[2]{1} = aten::relu(%0)
  %4: f32[2]{1} = stator::constant(@1)
  %5: f32[2]{1} = aten::cat([%2, %2, %4], 0)
  return %5
}
)g");
}

TEST(Pipeline, RefusesABrokenGraph) {
  auto graph = ir::parse("graph {\n  %0: int view(%1) = aten::relu()\n  return\n}\n");
  EXPECT_FALSE(graph);
  graph = ir::parse("graph {\n  %0: f32[1] = input a\n  %1: f32[1] = input a\n  return\n}\n");
  ASSERT_TRUE(graph);
  PipelineReport report = run_passes(*graph);
  EXPECT_EQ(report.error, "before the first pass: input a: the name is taken twice");
  EXPECT_TRUE(report.passes.empty());
}

}  // namespace
}  // namespace stator::pass
