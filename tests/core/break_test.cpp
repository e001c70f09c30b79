// tests/core/break_test.cpp: break reasons and the user's lines, in words.
#include "core/break.h"

#include <gtest/gtest.h>

#include <set>

namespace stator {
namespace {

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
}  // namespace stator
