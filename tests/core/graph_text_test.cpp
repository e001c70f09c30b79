// tests/core/graph_text_test.cpp: graphs as text: examples, errors with their places, and random round trips.
#include <gtest/gtest.h>

#include <random>

#include "core/ir/parse.h"
#include "core/ir/print.h"
#include "core/ir/verify.h"
#include "core/shape/context.h"
#include "core/shape/size.h"

namespace stator::ir {
namespace {

// Reads, verifies and prints; an error is the result.
std::string through(std::string_view text, PrintOptions options = {}) {
  auto graph = parse(text);
  if (!graph) return graph.error().text();
  if (auto error = verify(*graph)) return "verify: " + *error;
  return print(*graph, options);
}

TEST(GraphText, ReadsWhatItPrints) {
  const char* texts[] = {
      R"(graph {
  %0: f32[2,16,64]{1024,64,1} = input x  # L["x"]
  %1: f32[64]{1} grad parameter = input weight  # L["self"].weight
  %2: f32[2,16,64]{1024,64,1} grad = aten::add.Tensor(%0, %1, alpha=1)  # model.py:42
  return %2
}
)",
      R"(graph {
  %0: f32[4]{1}+8@cuda:0 = input x  # L["x"]
  %1: f32[2]{1}+10@cuda:0 shares(%0) = input y  # L["y"]
  %2: f32[2,2]{2,1}+8@cuda:0 view(%0) = aten::view(%0, [2, 2])
  %3: f32[2,2]{2,1}+8@cuda:0 same(%2) = aten::mul_.Scalar(%2, 0.5)
  stator::set_grad_enabled(false)  # train.py:7
  %4: i64[] number = stator::constant(@0)
  %9: f32[2]{1}, %10: f32[2]{1} = aten::chunk(%3, 2, 0)
  return %9, %10, %0
}
)",
      R"(graph {
  symbol s0 = 6 in [2, inf]  # L["x"].size(0)
  symbol i1 = -3 in [-inf, inf]  # L["n"]
  guard s0 <= 511  # model.py:3
  guard s0 % 2 == 0
  %0: f32[s0,16]{16,1} = input x  # L["x"]
  %1: f32[s0//2,32]{32,1}+(4*s0) view(%0) = aten::view(%0, [s0//2, 32])
  %2: f32[s0//2,32]{32,1} = aten::add.Scalar(%1, -i1 + 2)
  return %2
}
)",
      R"(graph {
  %0: float = input lr  # L["lr"]
  %1: float = stator::float_call("sqrt", %0, none)
  %2: float = stator::float_call("pow", %1, 2.5)
  return %2
}
)", "graph {\n  return\n}\n",
  };
  for (std::string text : texts) {
    if (text.find("@0)") != std::string::npos)
      text.insert(text.find("  %0"), "  constant @0 \"tensor(3)\"\n");
    EXPECT_EQ(through(text), text);
  }
}

TEST(GraphText, EveryKindOfArgument) {
  const char* text = R"(graph {
  constant @0 "a \"quoted\"\n\x01 text"
  %0: f32[2]{1} = input x  # "\nodd source"
  %1: f32[2]{1} = my::op(none, %0, true, -7, 1.5, -inf, nan, 1e+300, 0.1, complex(1.0, -2.5), "text\t\\", dtype(bf16), layout(sparse_csr), device(cuda:1), device(cpu), memory_format(channels_last), int[], [1, -2], float[], [0.5, 2.0], bool[], [true, false], value[], [%0, %0], ?[], ?[%0, none], list(1, 2.5, list()), @0, key=none, other=[9223372036854775807, -9223372036854775808])  # "a file.py":3
  return %1
}
)";
  EXPECT_EQ(through(text), text);
}

TEST(GraphText, OperatorDeclarationsAndStacks) {
  const char* text = R"(graph {
  operator aten::add_.Tensor(self!, other, *, alpha)
  operator my::anything(_)
  operator my::draw() random may_raise list
  %0: f32[2]{1} = input x
  %1: f32[2]{1} same(%0) = aten::add_.Tensor(%0, %0, alpha=2)  # /home/a/model.py:4 in Model.forward < <stdin>:1
  %2: f32[2]{1} = my::draw()
  my::anything(%2)
  return
}
)";
  EXPECT_EQ(through(text, {.operators = true, .stacks = true}), text);
}

struct Wrong {
  const char* statement;  // on line 3, after an input %0
  const char* error;
};

class GraphTextErrors : public testing::TestWithParam<Wrong> {};

TEST_P(GraphTextErrors, NameThePlace) {
  std::string text =
      "graph {\n  %0: f32[2]{1} = input x\n" + std::string(GetParam().statement) + "\n  return\n}\n";
  EXPECT_EQ(through(text), GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(
    All, GraphTextErrors,
    testing::Values(
        Wrong{"%1: f32[2]{1} = aten::relu(%7)", "3:28: %7 is not defined before it is used"},
        Wrong{"%0: f32[2]{1} = aten::relu(%0)", "3:1: %0 is already defined"},
        Wrong{"%1: g32[2] = aten::relu(%0)", "3:5: unknown element type 'g32'"},
        Wrong{"%1: thing = aten::relu(%0)", "3:5: unknown type 'thing'"},
        Wrong{"%1: f32[2]{1,1} = aten::relu(%0)", "3:12: expected as many strides as sizes"},
        Wrong{"%1: f32[s0] = aten::relu(%0)", "3:9: unknown symbol 's0'"},
        Wrong{"%1: f32[2] = relu(%0)", "3:14: expected an operator such as aten::add.Tensor"},
        Wrong{"%1: f32[2] = aten::relu(%0", "3:27: expected ','"},
        Wrong{"%1: f32[2] = aten::relu([])", "3:25: an empty list needs its type, as in int[]"},
        Wrong{"%1: f32[2] = aten::relu([1, true])", "3:25: the elements of a list are of one kind"},
        Wrong{"%1: f32[2] = aten::relu(@0)", "3:26: number out of range"},
        Wrong{"%1: f32[2] = aten::relu(\"a)", "3:28: the string does not end"},
        Wrong{"%1: f32[2] = aten::relu(a=1, 2)", "3:30: expected a keyword argument"},
        Wrong{"%1: f32[2] = aten::relu(%0) %0", "3:29: expected the end of the line"},
        Wrong{"%1: f32[2], %3: f32[2] = aten::relu(%0)",
              "3:13: outputs of one node have consecutive numbers"},
        Wrong{"%99999999999: f32[2] = aten::relu(%0)", "3:2: number out of range"},
        Wrong{"symbol none in [2, inf]", "3:8: this cannot be the name of a symbol"},
        Wrong{"guard 1 < 2", "3:7: expected a comparison that the ranges do not decide"},
        Wrong{"constant @1 \"x\"", "3:11: constants are numbered in order from 0"},
        Wrong{"operator aten::relu(self) quick", "3:27: unknown flag 'quick'"},
        Wrong{"%1: f32[2]{1} = input x", "verify: input x: the name is taken twice"},
        Wrong{"%1: f32[-2]{1} = aten::relu(%0)", "verify: node 0 (aten::relu): %1 has a negative size"},
        Wrong{"%1: f32[2]{1} same(%0) = aten::relu(1)",
              "verify: node 0 (aten::relu): %1 aliases %0, which the node does not use"},
        Wrong{"%1: f32[2]{1} shares(%0) = aten::relu(%0)",
              "verify: node 0 (aten::relu): %1 shares memory as only inputs do"},
        Wrong{"%1: int view(%0) = aten::relu(%0)", "verify: node 0 (aten::relu): only tensors alias"},
        Wrong{"}", "3:1: expected a statement or 'return'"}));

// Builds graphs with every kind of argument, value and alias.
class RandomGraph {
 public:
  explicit RandomGraph(unsigned seed) : random_(seed) {}

  Graph make() {
    shape::Context& shapes = graph_.shapes();
    for (int i = 0; i < 3; ++i)
      symbols_.push_back(shapes.size_symbol(2 + below(60), "L[\"x\"].size(" + std::to_string(i) + ")"));
    int inputs = 1 + below(4), nodes = below(40);
    for (int i = 0; i < inputs; ++i) add_input();
    for (int i = 0; i < nodes; ++i) {
      if (below(10) == 0) add_input();
      add_node();
    }
    (void)(shape::Size(symbols_[0], &shapes) < shape::Size(symbols_[1], &shapes));
    std::vector<ValueId> outputs;
    for (int i = below(4); i > 0; --i) outputs.push_back(any_value());
    graph_.set_outputs(outputs);
    return std::move(graph_);
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  ValueId any_value() { return values_[static_cast<size_t>(below(static_cast<int>(values_.size())))]; }
  bool is_tensor(ValueId id) { return graph_.value(id).is_tensor(); }

  shape::Dim any_dim() {
    if (below(3) != 0) return below(100);
    shape::Context* context = &graph_.shapes();
    shape::Size a(symbols_[static_cast<size_t>(below(3))], context),
        b(symbols_[static_cast<size_t>(below(3))], context);
    shape::Size n = 1 + below(9);
    switch (below(5)) {
      case 0:
        return (a * n + b).dim();
      case 1:
        return (floordiv(a + n, n) * b).dim();
      case 2:
        return (a % n).dim();
      case 3:
        return max(min(a, b), n).dim();
      default:
        return a.dim();
    }
  }

  ValueSpec any_spec() {
    sizes_.push_back({});
    strides_.push_back({});
    for (int i = below(4); i > 0; --i) {
      sizes_.back().push_back(any_dim());
      strides_.back().push_back(any_dim());
    }
    if (below(5) == 0) strides_.back().clear();
    ValueSpec spec;
    spec.dtype = static_cast<DType>(below(46));
    spec.device = {static_cast<DeviceType>(below(21)), static_cast<int8_t>(below(3) - 1)};
    spec.layout = static_cast<Layout>(below(8));
    spec.flags = static_cast<uint8_t>(below(32));
    spec.sizes = sizes_.back();
    spec.strides = strides_.back();
    if (below(3) == 0) spec.storage_offset = any_dim();
    return spec;
  }

  void add_input() {
    ValueSpec spec = any_spec();
    ValueId base = values_.empty() ? ValueId::kNone : values_[0];  // the first value is an input
    if (below(4) == 0 && base != ValueId::kNone) spec.alias = Alias::shares(base);
    std::string number = std::to_string(values_.size());
    values_.push_back(graph_.add_input("in" + number, "L[\"x\"][" + number + "]", spec));
  }

  double any_double() {
    const double special[] = {0.0, -0.0, 1.0, -1e300, 5e-324, 0.1, 1.0 / 3, INFINITY, -INFINITY, 123456789.0};
    return below(2) ? special[below(10)] : static_cast<double>(random_()) / 7.0;
  }

  Operand any_operand(int depth = 0) {
    const int64_t ints[] = {below(1000), -below(1000), INT64_MAX, INT64_MIN};
    switch (below(depth < 2 ? 20 : 17)) {
      case 0:
        return Operand::none();
      case 1:
        return Operand::of(below(2) == 0);
      case 2:
        return Operand::of(ints[below(4)]);
      case 3:
        return Operand::of(any_double());
      case 4:
        return graph_.complex({any_double(), any_double()});
      case 5:
        return graph_.string(std::string(static_cast<size_t>(below(3)), static_cast<char>(below(128))));
      case 6:
        return Operand::of(static_cast<DType>(below(46)));
      case 7:
        return Operand::of(static_cast<Layout>(below(8)));
      case 8:
        return Operand::of(Device{static_cast<DeviceType>(below(21)), static_cast<int8_t>(below(3) - 1)});
      case 9:
        return Operand::of(static_cast<MemoryFormat>(below(4)));
      case 10:
        return Operand::of(any_dim());
      case 11:
        return graph_.int_list(std::span(ints).first(static_cast<size_t>(below(5))));
      case 12: {
        const shape::Dim dims[] = {any_dim(), any_dim(), -1};
        return graph_.dim_list(dims);
      }
      case 13: {
        const double numbers[] = {any_double(), any_double()};
        return graph_.double_list(std::span(numbers).first(static_cast<size_t>(below(3))));
      }
      case 14: {
        const bool bits[] = {below(2) == 0, true};
        return graph_.bool_list(std::span(bits).first(static_cast<size_t>(below(3))));
      }
      case 15: {
        const ValueId values[] = {any_value(), any_value()};
        return graph_.value_list(std::span(values).first(static_cast<size_t>(below(3))));
      }
      case 16: {
        const ValueId values[] = {any_value(), ValueId::kNone};
        return graph_.optional_value_list(std::span(values).first(static_cast<size_t>(below(3))));
      }
      case 17:
        return graph_.constant(nullptr, "object " + std::to_string(below(9)));
      default: {
        std::vector<Operand> elements;
        for (int i = below(3); i > 0; --i) elements.push_back(any_operand(depth + 1));
        return graph_.list(elements);
      }
    }
  }

  void add_node() {
    Operator op;
    int arity = below(5), keyword = below(6), kind = below(8);
    op.name = "test::op" + std::to_string(kind) + "." + std::to_string(arity) + "_" + std::to_string(keyword);
    for (int i = 0; i < arity + 1; ++i) op.arguments.push_back("arg" + std::to_string(i));
    op.first_keyword = static_cast<uint32_t>(keyword);
    op.flags = kind % 2 ? OpFlags(OpFlag::kPure) : OpFlags();
    op.writes = static_cast<uint64_t>(kind / 4);
    OpId id = graph_.operators().add(op);
    ValueId first = any_value();
    std::vector<Operand> operands = {Operand::of(first)};
    for (int i = 0; i < arity; ++i) operands.push_back(any_operand());
    std::vector<ValueSpec> outputs;
    for (int i = below(3); i > 0; --i) {
      outputs.push_back(any_spec());
      if (is_tensor(first) && below(3) == 0)
        outputs.back().alias = below(2) ? Alias::same(first) : Alias::view(first);
      if (below(8) == 0) {
        outputs.back() = ValueSpec();
        outputs.back().kind = static_cast<ValueKind>(2 + below(5));
      }
    }
    UserLines& lines = graph_.lines();
    LineId caller = below(2) ? lines.add("/tmp/ma in.py", 1 + below(9), "<module>") : LineId::kNone;
    LineId line = below(3) ? lines.add("/tmp/model.py", 1 + below(99), below(2) ? "f.<locals>.g" : "", caller)
                           : LineId::kNone;
    for (ValueId output : graph_.outputs(graph_.append(id, operands, outputs, line)))
      values_.push_back(output);
  }

  std::mt19937 random_;
  Graph graph_;
  std::vector<shape::Dim> symbols_;
  std::vector<ValueId> values_;
  std::deque<std::vector<shape::Dim>> sizes_, strides_;
};

TEST(GraphText, RandomGraphsComeBackTheSame) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    Graph graph = RandomGraph(seed).make();
    ASSERT_EQ(verify(graph), std::nullopt) << print(graph);
    for (PrintOptions options : {PrintOptions{}, PrintOptions{.operators = true, .stacks = true}}) {
      std::string text = print(graph, options);
      auto again = parse(text);
      ASSERT_TRUE(again) << again.error().text() << "\n" << text;
      ASSERT_EQ(verify(*again), std::nullopt) << text;
      ASSERT_EQ(print(*again, options), text);
    }
  }
}

// Damaged text is refused or read, never a crash; what is read prints and reads again.
TEST(GraphText, DamagedTextIsAnErrorOrAGraph) {
  std::mt19937 random(7);
  int refused = 0;
  for (unsigned seed = 0; seed < 150; ++seed) {
    std::string text = print(RandomGraph(seed).make(), {.operators = true, .stacks = true});
    for (int trial = 0; trial < 10; ++trial) {
      std::string damaged = text;
      for (int i = 0; i < 2; ++i) {
        size_t at = random() % damaged.size();
        const char* letters = "%:,=()[]{}#\"@?-+ \n019sx<";
        if (random() % 2) {
          damaged[at] = letters[random() % 24];
        } else {
          damaged.erase(at, random() % 5);
        }
      }
      auto graph = parse(damaged);
      refused += !graph;
      if (!graph || verify(*graph)) continue;
      std::string printed = print(*graph, {.operators = true, .stacks = true});
      auto again = parse(printed);
      ASSERT_TRUE(again) << again.error().text() << "\n" << printed;
      ASSERT_EQ(print(*again, {.operators = true, .stacks = true}), printed);
    }
  }
  EXPECT_GT(refused, 500);
}

}  // namespace
}  // namespace stator::ir
