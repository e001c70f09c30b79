// tests/core/guard_test.cpp: sources and guards as text; break reasons.
#include "core/guard/guard.h"

#include <gtest/gtest.h>

#include <set>

#include "core/break.h"

namespace stator::guard {
namespace {

TEST(Source, PrintsAsPython) {
  SourceTable s;
  SourceId self = s.local("self");
  EXPECT_EQ(s.text(s.item(s.attribute(self, "weight"), 3)), "L[\"self\"].weight[3]");
  EXPECT_EQ(s.text(s.dict_value(s.instance_dict(self), "a\"b")), "L[\"self\"].__dict__[\"a\\\"b\"]");
  EXPECT_EQ(s.text(s.dict_value(s.global("table"), -4)), "G[\"table\"][-4]");
  EXPECT_EQ(s.text(s.dict_value_of_constant(s.free("d"), 2)), "C[\"d\"][K[2]]");
  EXPECT_EQ(s.text(s.attribute(s.type(s.stack(1)), "f")), "type(S[1]).f");
  EXPECT_EQ(s.text(s.dict_key(s.builtin("x"), 0)), "list(B[\"x\"])[0]");
  EXPECT_EQ(s.text(s.attribute(s.mro_entry(s.type(self), 1), "no name")),
            "getattr(type(L[\"self\"]).__mro__[1], \"no name\")");
  EXPECT_EQ(s.text(s.tensor_size(s.module("a.b"), 0)), "sys.modules[\"a.b\"].size(0)");
  EXPECT_EQ(s.text(s.cell_contents(s.constant(5))), "K[5].cell_contents");
}

TEST(Source, EqualSourcesHaveEqualIds) {
  SourceTable s;
  EXPECT_EQ(s.attribute(s.local("x"), "a"), s.attribute(s.local("x"), "a"));
  SourceId d = s.local("d");
  std::set<SourceId> all = {s.dict_value(d, "1"), s.dict_value(d, 1), s.dict_value_of_constant(d, 1),
                            s.item(d, 1), s.attribute(d, "1")};
  EXPECT_EQ(all.size(), 5u);
  EXPECT_LT(d, s.item(d, 0));
}

TEST(Source, AnyDepthPrints) {
  SourceTable s;
  SourceId at = s.local("x");
  for (int i = 0; i < 200000; ++i) at = s.item(at, 0);
  EXPECT_EQ(s.text(at).size(), 6u + 3 * 200000);
}

TEST(GuardSet, KeepsEachGuardOnceAndOrdersByCost) {
  SourceTable sources;
  UserLines lines;
  GuardSet set;
  SourceId x = sources.local("x"), flag = sources.attribute(sources.local("self"), "training");
  LineId line = lines.add("/home/a/model.py", 12, "forward");
  uint32_t tensor = set.add(GuardKind::kTensor, x, 0, "a Tensor f32[2,3]", line);
  uint32_t is = set.add(GuardKind::kIdentity, flag, 1, "False", line);
  EXPECT_EQ(set.add(GuardKind::kIdentity, flag, 1, "False", LineId::kNone), is);
  uint32_t type = set.add(GuardKind::kType, x, 2, "Tensor", LineId::kNone);
  EXPECT_EQ(set.order(), (std::vector<uint32_t>{is, type, tensor}));
  EXPECT_EQ(set.text(set.guards()[type], sources), "type(L[\"x\"]) is Tensor");
  EXPECT_EQ(set.report(set.guards()[is], sources, lines), "L[\"self\"].training is False  # model.py:12");
  EXPECT_EQ(set.report(set.guards()[is], sources, lines, "True"),
            "L[\"self\"].training is False, but found True  # model.py:12");
}

TEST(Break, ReasonsAreCompleteAndUnique) {
  std::set<std::string> codes;
  for (size_t i = 0; i < break_code_count(); ++i) {
    auto code = static_cast<BreakCode>(i);
    EXPECT_STRNE(reason(code).message, "");
    EXPECT_TRUE(codes.insert(reason(code).code).second) << reason(code).code;
    EXPECT_EQ(break_code_from_text(reason(code).code), code);
  }
  EXPECT_EQ(break_code_from_text("no-such-code"), std::nullopt);
}

TEST(Break, SaysWhereWhyAndWhatToDo) {
  UserLines lines;
  Break result{BreakCode::kDataDependentBranch, lines.add("/home/a/model.py", 7, "forward"), "aten::item"};
  EXPECT_EQ(result.text(lines),
            "model.py:7: data-dependent-branch: a branch depends on the contents of a tensor (aten::item)\n"
            "  hint: use torch.where, or decide on a Python value");
}

TEST(UserLines, StacksAreInterned) {
  UserLines lines;
  LineId outer = lines.add("a.py", 1, "main");
  LineId inner = lines.add("b.py", 2, "f", outer);
  EXPECT_EQ(inner, lines.add("b.py", 2, "f", outer));
  EXPECT_NE(inner, lines.add("b.py", 2, "f"));
  EXPECT_EQ(lines.stack_text(inner), "  b.py:2 in f\n  a.py:1 in main\n");
  EXPECT_EQ(lines.short_text(LineId::kNone), "");
  const LineId later = lines.add_later(outer);
  lines.place(later, lines.intern("/lib/torch/nn/linear.py"), 7, lines.intern("forward"));
  EXPECT_EQ(lines.stack_text(later), "  /lib/torch/nn/linear.py:7 in forward\n  a.py:1 in main\n");
  EXPECT_EQ(lines.outside_library(later), later);
  lines.set_library("/lib/torch/");
  EXPECT_EQ(lines.outside_library(later), outer);
  EXPECT_EQ(lines.outside_library(inner), inner);
}

}  // namespace
}  // namespace stator::guard
