// src/backends/fused/rewrite/with_norms_of_rows.cpp: a group norm goes over the last dimensions of its input
// with the channels split into groups, whatever the layout of the image.
#include <algorithm>
#include <array>
#include <vector>

#include "backends/fused/plan/groups.h"
#include "backends/fused/rewrite/graph_copy.h"
#include "backends/fused/rewrite/rewrite.h"
#include "core/pass/added_operators.h"
#include "core/pass/alias_facts.h"

namespace stator::fused {
namespace {

using ir::Operand;
using ir::OperandKind;
using ir::ValueId;
using Dims = std::vector<shape::Dim>;

bool is_float(ir::DType dtype) {
  return dtype == ir::DType::kF16 || dtype == ir::DType::kBF16 || dtype == ir::DType::kF32;
}

bool are_numbers(std::span<const shape::Dim> dims) {
  return std::ranges::none_of(dims, [](shape::Dim dim) { return dim.is_expr(); });
}

bool is_parameter(const ir::Graph& graph, const Operand& operand, const ir::Value& input) {
  if (operand.kind == OperandKind::kNone) return true;
  if (operand.kind != OperandKind::kValue) return false;
  const ir::Value& value = graph.value(operand.value);
  return value.is_tensor() && value.rank == 1 && value.dtype == input.dtype && value.device == input.device &&
         value.layout == ir::Layout::kStrided && graph.strides(value)[0] == shape::Dim(1);
}

// Elements behind each other in some order of the dimensions, channels first or last.
bool is_image(std::span<const shape::Dim> sizes, std::span<const shape::Dim> strides) {
  static constexpr std::array<std::array<size_t, 4>, 2> kOrders = {{{3, 2, 1, 0}, {1, 3, 2, 0}}};
  return std::ranges::any_of(kOrders, [&](const auto& inner_first) {
    int64_t next = 1;
    return std::ranges::all_of(inner_first, [&](size_t d) {
      const bool fits = strides[d] == shape::Dim(next);
      next *= sizes[d].number();
      return fits;
    });
  });
}

class Rewriter {
 public:
  explicit Rewriter(const ir::Graph& from)
      : from_(from), facts_(from), copy_(from), readers_(from.value_count()), has_alias_(from.value_count()) {
    for (uint32_t i = 0; i < from.value_count(); ++i) {
      const ir::Value& value = from.value(ValueId{i});
      if (value.alias != ir::AliasKind::kFresh) has_alias_[index(value.storage)] = 1;
    }
    for (const ir::Node& node : from.nodes())
      from.for_each_use(node, [&](ValueId id) { readers_[index(id)].push_back(&node); });
  }

  ir::Graph run() {
    for (const ir::Node& node : from_.nodes()) {
      if (std::ranges::find(done_, &node) != done_.end()) continue;
      if (!norms_groups(from_, facts_, node) || !is_own(node.first_output)) {
        copy_.keep(node);
        continue;
      }
      rewrite(node);
    }
    return copy_.finish();
  }

 private:
  // Memory that nobody can tell from a view.
  bool is_own(ValueId id) const {
    return from_.value(id).alias == ir::AliasKind::kFresh && has_alias_[index(id)] == 0 &&
           !facts_.is_written(id) && !facts_.is_output(id) && is_image(from_.sizes(id), from_.strides(id));
  }

  ValueId view(ValueId of, const ir::ValueSpec& of_spec, const Dims& sizes, const Dims& strides,
               const ir::Node& node) {
    ir::ValueSpec spec = of_spec;
    spec.alias = ir::Alias::view(of);
    spec.flags = 0;
    spec.sizes = sizes;
    spec.strides = strides;
    const ir::OpId op = pass::pure_operator(copy_.to(), "aten::view", {"self", "size"});
    const std::array<Operand, 2> operands = {Operand::of(of), copy_.to().dim_list(sizes)};
    return copy_.add(op, operands, spec, node);
  }

  static Dims split(std::span<const shape::Dim> image, int64_t first, int64_t second) {
    return {image[0], first, second, image[2], image[3]};
  }

  void rewrite(const ir::Node& node) {
    const auto operands = from_.operands(node);
    const ValueId input = operands[0].value, output = node.first_output;
    const auto sizes = from_.sizes(input);
    const int64_t channels = sizes[1].number(), groups = operands[1].integer, each = channels / groups;
    const auto split_strides = [&](ValueId id) {
      const int64_t stride = from_.strides(id)[1].number();
      return split(from_.strides(id), each * stride, stride);
    };
    const Dims five = split(sizes, groups, each);
    const Dims parameter = {1, groups, each, 1, 1}, parameter_strides = {channels, each, 1, 1, 1};
    std::array<Operand, 5> given = {
        Operand::of(view(copy_.now(input), copy_.spec(input), five, split_strides(input), node)),
        copy_.to().int_list(std::array<int64_t, 3>{2, 3, 4}), Operand::none(), Operand::none(), operands[4]};
    for (size_t i = 2; i < 4; ++i) {
      if (operands[i].kind != OperandKind::kValue) continue;
      const ValueId id = operands[i].value;
      given[i] = Operand::of(view(copy_.now(id), copy_.spec(id), parameter, parameter_strides, node));
    }
    ir::ValueSpec spec = copy_.spec(output);
    const Dims strides = split_strides(output);
    spec.sizes = five;
    spec.strides = strides;
    const ir::OpId op =
        pass::pure_operator(copy_.to(), kNormOfRows, {"input", "dim", "weight", "bias", "eps"});
    ValueId made = copy_.add(op, given, spec, node);
    ValueId result = output;
    // What follows belongs into the same kernel.
    const auto& readers = readers_[index(output)];
    if (readers.size() == 1 && from_.op_of(*readers[0]).name == "aten::silu" &&
        is_own(readers[0]->first_output) &&
        std::ranges::equal(from_.strides(readers[0]->first_output), from_.strides(output))) {
      const std::array<Operand, 1> self = {Operand::of(made)};
      made = copy_.add(readers[0]->op, self, spec, *readers[0]);
      result = readers[0]->first_output;
      done_.push_back(readers[0]);
    }
    const Dims own_sizes(sizes.begin(), sizes.end());
    const Dims own_strides(from_.strides(output).begin(), from_.strides(output).end());
    copy_.stands_for(result, view(made, copy_.spec(output), own_sizes, own_strides, node));
  }

  const ir::Graph& from_;
  const pass::AliasFacts facts_;
  GraphCopy copy_;
  std::vector<std::vector<const ir::Node*>> readers_;  // by value
  std::vector<char> has_alias_;                        // by alias set: it has more than one value
  std::vector<const ir::Node*> done_;
};

}  // namespace

bool norms_groups(const ir::Graph& graph, const pass::AliasFacts& facts, const ir::Node& node) {
  const auto operands = graph.operands(node);
  if (graph.op_of(node).name != "aten::group_norm" || operands.size() != 6 ||
      operands[0].kind != OperandKind::kValue || operands[1].kind != OperandKind::kInt ||
      operands[4].kind != OperandKind::kDouble)
    return false;
  const ValueId id = operands[0].value;
  const ir::Value& input = graph.value(id);
  if (!input.is_tensor() || input.rank != 4 || !input.has_strides || input.layout != ir::Layout::kStrided ||
      !is_float(input.dtype) || graph.value(node.first_output).dtype != input.dtype ||
      (input.flags & (ir::kConjugate | ir::kNegative)) != 0)
    return false;
  const auto sizes = graph.sizes(id), strides = graph.strides(id);
  if (!are_numbers(sizes) || !are_numbers(strides) || !is_image(sizes, strides)) return false;
  const int64_t channels = sizes[1].number(), groups = operands[1].integer;
  if (groups < 1 || channels % groups != 0) return false;
  int64_t row = channels / groups;
  for (size_t d = 2; d < 4; ++d) row *= sizes[d].number();
  for (size_t i : {0, 2, 3}) {
    if (operands[i].kind == OperandKind::kValue && facts.is_written(operands[i].value)) return false;
  }
  return row > 1 && row <= max_row(Language::cuda) && sizes[0].number() > 0 &&
         is_parameter(graph, operands[2], input) && is_parameter(graph, operands[3], input);
}

ir::Graph with_norms_of_rows(const ir::Graph& graph) { return Rewriter(graph).run(); }

}  // namespace stator::fused
