// tests/core/verify_test.cpp: faults that text cannot express, made through the interface and found by the
// verifier.
#include "core/ir/verify.h"

#include <gtest/gtest.h>

#include <functional>

#include "core/ir/print.h"
#include "core/shape/context.h"

namespace stator::ir {
namespace {

struct Sample {
  Graph graph;
  OpId op;
  ValueId x;
  ValueSpec spec;
  const shape::Dim two[1] = {2}, one[1] = {1};

  Sample() {
    Operator relu;
    relu.name = "aten::relu";
    op = graph.operators().add(relu);
    spec.sizes = two;
    spec.strides = one;
    x = graph.add_input("x", "L[\"x\"]", spec);
  }

  ValueId relu(ValueId of) {
    const Operand operands[] = {Operand::of(of)};
    return graph.outputs(graph.append(op, operands, {&spec, 1}))[0];
  }
};

TEST(Verify, FindsFaults) {
  struct Case {
    std::function<void(Sample&)> damage;
    const char* error;
  };
  const Case cases[] = {
      {[](Sample& s) { s.relu(ValueId{1}); }, "node 0 (aten::relu): %1 is not defined before it is used"},
      {[](Sample& s) { s.relu(ValueId{900}); }, "node 0 (aten::relu): %900 is not defined before it is used"},
      {[](Sample& s) {
         const ValueId outputs[] = {ValueId{5}};
         s.graph.set_outputs(outputs);
       },
       "return: %5 is not defined"},
      {[](Sample& s) {
         s.spec.storage_offset = shape::ExprId{77};
         s.relu(s.x);
       },
       "node 0 (aten::relu): unknown size expression"},
      {[](Sample& s) {
         shape::Context& shapes = s.graph.shapes();
         shape::Dim dim = shapes.size_symbol(5, "L[\"x\"].size(0)");
         s.spec.storage_offset = shapes.exprs().eq(dim.expr(), shapes.exprs().constant(9));
         s.relu(s.x);
       },
       "node 0 (aten::relu): a comparison stands where a number is meant"},
      {[](Sample& s) { s.graph.append(OpId{4000}, {}, {}); }, "node 0: unknown operator"},
      {[](Sample& s) { s.graph.append(s.op, {}, {}, LineId{3}); }, "node 0 (aten::relu): unknown user line"},
      {[](Sample& s) {
         const ValueId values[] = {ValueId::kNone};
         const Operand operands[] = {s.graph.value_list(values)};
         s.graph.append(s.op, operands, {});
       },
       "node 0 (aten::relu): an element is absent in a list whose elements are not optional"},
      {[](Sample& s) { s.graph.add_input("not a name", "", s.spec); },
       "input not a name: the name is not an identifier"},
      {[](Sample& s) {
         s.spec.alias = Alias::view(s.x);
         s.graph.add_input("y", "", s.spec);
       },
       "input y: an input is not the result of a node"},
      {[](Sample& s) {
         // Removing a node whose value is still used.
         s.relu(s.relu(s.x));
         s.graph.remove_nodes({true, false});
       },
       "node 0 (aten::relu): %1 is not defined before it is used"},
      {[](Sample& s) {
         // A replacement that is defined later.
         ValueId a = s.relu(s.x), b = s.relu(a);
         s.relu(a);
         const ValueId replacement[] = {s.x, b, b, ValueId{3}};
         s.graph.replace_values(replacement);
       },
       "node 1 (aten::relu): %2 is not defined before it is used"},
      {[](Sample& s) { s.graph.shapes().add_symbol("min", "", shape::Range::all(), 3); },
       "symbol min: the name is not allowed"},
      {[](Sample& s) {
         s.graph.shapes().add_symbol("s0", "", shape::Range{2, 9}, 1);
       },
       "symbol s0: the hint is outside of the range"},
  };
  for (const Case& one : cases) {
    Sample sample;
    ASSERT_EQ(verify(sample.graph), std::nullopt);
    one.damage(sample);
    EXPECT_EQ(verify(sample.graph), one.error);
  }
}

TEST(Graph, ReplacingAndRewritingKeepAliasSets) {
  Sample s;
  ValueId a = s.relu(s.x), b = s.relu(s.x);
  s.spec.alias = Alias::view(b);
  ValueId view = s.relu(b);
  s.spec.alias = Alias::same(view);
  ValueId same = s.relu(view);
  EXPECT_EQ(s.graph.value(same).storage, b);

  const ValueId replacement[] = {s.x, a, a, view, same};
  s.graph.replace_values(replacement);
  EXPECT_EQ(s.graph.value(view).base, a);
  EXPECT_EQ(s.graph.value(same).storage, a);
  EXPECT_EQ(verify(s.graph), std::nullopt);

  s.graph.rewrite_node(s.graph.value(view).node, op::kConstant, {});
  EXPECT_EQ(s.graph.value(view).storage, view);
  EXPECT_EQ(s.graph.value(same).storage, view);
  EXPECT_EQ(verify(s.graph), std::nullopt);

  s.graph.remove_nodes({false, true, false, false});
  EXPECT_EQ(s.graph.value(b).kind, ValueKind::kUndefined);
  EXPECT_EQ(s.graph.value(same).node, NodeId{2});
  EXPECT_EQ(verify(s.graph), std::nullopt);
}

}  // namespace
}  // namespace stator::ir
