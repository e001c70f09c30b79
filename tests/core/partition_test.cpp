// tests/core/partition_test.cpp: what is kept between forward and backward, text in and text out.
#include "core/pass/partition.h"

#include <gtest/gtest.h>

#include "core/ir/parse.h"
#include "core/ir/print.h"
#include "core/ir/verify.h"
#include "core/pass/min_cut.h"

namespace stator::pass {
namespace {

constexpr std::string_view kOperators = R"g(
  operator aten::add.Tensor(self, other) pure
  operator aten::add_.Tensor(self!, other)
  operator aten::mul.Tensor(self, other) pure
  operator aten::neg(self) pure
  operator aten::mm(self, mat2) pure
  operator aten::t(self) pure
  operator aten::tanh(self) pure
  operator aten::rand_like(self) random
  operator aten::tanh_backward(grad_output, output) pure
)g";

JointGraph joint(std::string_view body, size_t forward_nodes, size_t first_gradient, size_t results) {
  auto graph = ir::parse("graph {" + std::string(kOperators) + std::string(body) + "}\n");
  EXPECT_TRUE(graph) << graph.error().text();
  return {std::move(*graph), forward_nodes, first_gradient, 1, results};
}

std::string body_of(const ir::Graph& graph) {
  EXPECT_EQ(ir::verify(graph), std::nullopt);
  const std::string text = ir::print(graph);
  return "\n" + text.substr(8, text.size() - 10);
}

std::vector<uint32_t> kept(const JointGraph& graph) {
  const auto parts = partition(graph);
  EXPECT_TRUE(parts) << parts.error();
  std::vector<uint32_t> ids;
  for (ir::ValueId id : parts->kept) ids.push_back(index(id));
  return ids;
}

using Ids = std::vector<uint32_t>;

TEST(MinCut, SeparatesAtTheNarrowestPlace) {
  FlowNetwork network(5);
  network.add_edge(0, 1, 10);
  network.add_edge(0, 2, 10);
  network.add_edge(1, 3, 3);
  network.add_edge(2, 3, 4);
  network.add_edge(2, 1, 5);
  network.add_edge(3, 4, 6);
  EXPECT_EQ(network.sink_side(0, 4), (std::vector<char>{0, 0, 0, 0, 1}));
}

TEST(MinCut, TakesBackFlow) {
  // The shortest path uses the edge from 1 to 4, which the greatest flow leaves.
  FlowNetwork network(6);
  network.add_edge(0, 1, 1);
  network.add_edge(0, 2, 1);
  network.add_edge(1, 3, 1);
  network.add_edge(1, 4, 1);
  network.add_edge(2, 3, 1);
  network.add_edge(3, 5, 1);
  network.add_edge(4, 5, 1);
  EXPECT_EQ(network.sink_side(0, 5), (std::vector<char>{0, 0, 0, 0, 0, 1}));
}

// y = tanh(x @ w)
constexpr std::string_view kLayer = R"g(
  %0: f32[2,3]{3,1} = input x
  %1: f32[3,4]{4,1} = input w
  %2: f32[2,4]{4,1} = aten::mm(%0, %1)
  %3: f32[2,4]{4,1} = aten::tanh(%2)
  %4: f32[2,4]{4,1} = input gradient
  %5: f32[2,4]{4,1} = aten::tanh_backward(%4, %3)
  %6: f32[3,2]{1,3} view(%0) = aten::t(%0)
  %7: f32[3,4]{4,1} = aten::mm(%6, %5)
  return %3, %7
)g";

TEST(Partition, KeepsWhatTheFormulasRead) {
  const auto parts = partition(joint(kLayer, 2, 2, 1));
  ASSERT_TRUE(parts) << parts.error();
  EXPECT_EQ(body_of(parts->forward), R"g(
  %0: f32[2,3]{3,1} = input x
  %1: f32[3,4]{4,1} = input w
  %2: f32[2,4]{4,1} = aten::mm(%0, %1)
  %3: f32[2,4]{4,1} = aten::tanh(%2)
  return %3, %0, %3
)g");
  EXPECT_EQ(body_of(parts->backward), R"g(
  %0: f32[2,3]{3,1} = input kept_0  # kept
  %1: f32[2,4]{4,1} = input kept_3  # kept
  %2: f32[2,4]{4,1} = input gradient
  %3: f32[2,4]{4,1} = aten::tanh_backward(%2, %1)
  %4: f32[3,2]{1,3} view(%0) = aten::t(%0)
  %5: f32[3,4]{4,1} = aten::mm(%4, %3)
  return %5
)g");
}

// Two cheap functions of one product, both read by the backward.
constexpr std::string_view kTwoReaders = R"g(
  %0: f32[2,3]{3,1} = input x
  %1: f32[3,4]{4,1} = input w
  %2: f32[2,4]{4,1} = aten::mm(%0, %1)
  %3: f32[2,4]{4,1} = aten::neg(%2)
  %4: f32[2,4]{4,1} = aten::mul.Tensor(%2, %2)
  %5: f32[2,4]{4,1} = aten::add.Tensor(%3, %4)
  %6: f32[2,4]{4,1} = input gradient
  %7: f32[2,4]{4,1} = aten::mul.Tensor(%6, %3)
  %8: f32[2,4]{4,1} = aten::mul.Tensor(%7, %4)
  return %5, %8
)g";

TEST(Partition, ComputesCheapOperatorsAgain) { EXPECT_EQ(kept(joint(kTwoReaders, 4, 2, 1)), Ids{2}); }

TEST(Partition, ComputesNothingFromAResultThatNoFormulaReads) {
  std::string body(kTwoReaders);
  body.replace(body.find("return %5"), 9, "return %2");
  EXPECT_EQ(kept(joint(body, 4, 2, 1)), (Ids{3, 4}));
}

TEST(Partition, ComputesNothingFromMemoryThatIsWritten) {
  EXPECT_EQ(kept(joint(R"g(
  %0: f32[2,3]{3,1} = input x
  %1: f32[3,4]{4,1} = input w
  %2: f32[2,4]{4,1} = aten::mm(%0, %1)
  %3: f32[2,4]{4,1} = aten::neg(%2)
  %4: f32[2,4]{4,1} = aten::mul.Tensor(%2, %2)
  %5: f32[2,4]{4,1} same(%2) = aten::add_.Tensor(%2, %3)
  %6: f32[2,4]{4,1} = input gradient
  %7: f32[2,4]{4,1} = aten::mul.Tensor(%6, %3)
  %8: f32[2,4]{4,1} = aten::mul.Tensor(%7, %4)
  return %3, %8
)g",
                       4, 2, 1)),
            (Ids{3, 4}));
}

// The sums that a residual stream goes through: each costs as much as what was added to it.
TEST(Partition, KeepsSumsAndNotWhatTheyAreMadeOf) {
  EXPECT_EQ(kept(joint(R"g(
  %0: f32[2,4]{4,1} = input x
  %1: f32[4,4]{4,1} = input w
  %2: f32[2,4]{4,1} = aten::mm(%0, %1)
  %3: f32[2,4]{4,1} = aten::add.Tensor(%0, %2)
  %4: f32[2,4]{4,1} = aten::mm(%3, %1)
  %5: f32[2,4]{4,1} = aten::add.Tensor(%3, %4)
  %6: f32[2,4]{4,1} = aten::mm(%5, %1)
  %7: f32[2,4]{4,1} = input gradient
  %8: f32[2,4]{4,1} = aten::mul.Tensor(%7, %3)
  %9: f32[2,4]{4,1} = aten::mul.Tensor(%8, %5)
  %10: f32[2,4]{4,1} = aten::mul.Tensor(%9, %0)
  return %6, %10
)g",
                       5, 2, 1)),
            (Ids{0, 3, 5}));
}

TEST(Partition, DrawsNoRandomNumbersAgain) {
  EXPECT_EQ(kept(joint(R"g(
  %0: f32[2,4]{4,1} = input x
  %1: f32[2,4]{4,1} = aten::rand_like(%0)
  %2: f32[2,4]{4,1} = aten::mul.Tensor(%0, %1)
  %3: f32[2,4]{4,1} = aten::neg(%1)
  %4: f32[2,4]{4,1} = input gradient
  %5: f32[2,4]{4,1} = aten::mul.Tensor(%4, %1)
  return %2, %5
)g",
                       3, 1, 1)),
            Ids{1});
}

TEST(Partition, GivesGradientsMemoryOfTheirOwn) {
  const auto parts = partition(joint(R"g(
  %0: f32[2,4]{4,1} = input x
  %1: f32[2,4]{4,1} = aten::neg(%0)
  %2: f32[2,4]{4,1} = input gradient
  %3: f32[2,4]{4,1} = aten::neg(%2)
  %4: f32[4,2]{1,4} view(%3) = aten::t(%3)
  return %1, %3, %3, %4, %0
)g",
                                     1, 1, 1));
  ASSERT_TRUE(parts) << parts.error();
  EXPECT_EQ(body_of(parts->backward), R"g(
  %0: f32[2,4]{4,1} = input kept_0  # kept
  %1: f32[2,4]{4,1} = input gradient
  %2: f32[2,4]{4,1} = aten::neg(%1)
  %3: f32[4,2]{1,4} view(%2) = aten::t(%2)
  %4: f32[4,2]{2,1} = aten::clone(%3, memory_format(contiguous))
  %5: f32[2,4]{4,1} = aten::clone(%0, memory_format(contiguous))
  return %2, %2, %4, %5
)g");
}

TEST(Partition, RefusesABackwardThatWritesToWhatTheForwardMade) {
  const auto parts = partition(joint(R"g(
  %0: f32[2,4]{4,1} = input x
  %1: f32[2,4]{4,1} = aten::neg(%0)
  %2: f32[2,4]{4,1} = input gradient
  %3: f32[2,4]{4,1} same(%1) = aten::add_.Tensor(%1, %2)
  return %0, %3
)g",
                                     1, 1, 1));
  ASSERT_FALSE(parts);
  EXPECT_EQ(parts.error(), "a backward that writes to what the forward made");
}

}  // namespace
}  // namespace stator::pass
