// src/backends/fused/rewrite/with_channels_last.cpp: the layout of convolutions' inputs and results follows
// through what kernels compute and through pooling; elsewhere it is what eager code would have given.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "backends/fused/plan/groups.h"
#include "backends/fused/plan/memory.h"
#include "backends/fused/plan/node_terms.h"
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

// Pooling gives its results the layout of its input.
bool follows_layout(std::string_view name) {
  static constexpr std::string_view kNames[] = {"aten::max_pool2d", "aten::avg_pool2d",
                                                "aten::upsample_nearest2d.vec"};
  return std::ranges::find(kNames, name) != std::end(kNames);
}

class Rewriter {
 public:
  explicit Rewriter(const ir::Graph& from)
      : from_(from),
        memory_(from, kernel_device(from)),
        facts_(from),
        copy_(from),
        has_alias_(from.value_count()),
        last_(from.value_count()) {
    for (uint32_t i = 0; i < from.value_count(); ++i) {
      const ir::Value& value = from.value(ValueId{i});
      if (value.alias != ir::AliasKind::kFresh) has_alias_[index(value.storage)] = 1;
    }
  }

  // Nothing where there is nothing to gain, or where kernels of grouped convolutions want the other layout.
  std::optional<ir::Graph> run() {
    bool any = false;
    for (const ir::Node& node : from_.nodes()) {
      if (!is_convolution(node)) continue;
      const auto operands = from_.operands(node);
      if (operands[6].kind != OperandKind::kInt || operands[6].integer != 1) return {};
      any = any || gives_image(node);
    }
    if (!any) return {};
    for (const ir::Node& node : from_.nodes()) rewrite(node);
    for (ValueId id : from_.outputs()) plain(id, from_.nodes().back());
    return copy_.finish();
  }

 private:
  bool is_convolution(const ir::Node& node) const {
    const auto operands = from_.operands(node);
    return from_.op_of(node).name == "aten::conv2d" && operands.size() == 7 && is_4d(operands[0]) &&
           is_4d(operands[1]);
  }
  bool is_4d(const Operand& operand) const {
    if (operand.kind != OperandKind::kValue) return false;
    const ir::Value& value = from_.value(operand.value);
    return value.is_tensor() && value.rank == 4 && value.has_strides && has_numbers(operand.value);
  }
  bool has_numbers(ValueId id) const {
    return std::ranges::none_of(from_.sizes(id), [](shape::Dim size) { return size.is_expr(); });
  }

  static Dims strides_of(std::span<const shape::Dim> sizes, std::span<const size_t> inner_first) {
    Dims strides(sizes.size(), 1);
    int64_t next = 1;
    for (size_t d : inner_first) {
      strides[d] = next;
      next *= std::max<int64_t>(sizes[d].number(), 1);
    }
    return strides;
  }
  static Dims channels_last(std::span<const shape::Dim> sizes) {
    static constexpr std::array<size_t, 4> kOrder = {1, 3, 2, 0};
    return strides_of(sizes, kOrder);
  }
  static Dims channels_first(std::span<const shape::Dim> sizes) {
    static constexpr std::array<size_t, 4> kOrder = {3, 2, 1, 0};
    return strides_of(sizes, kOrder);
  }
  // Dimensions of size 1 have no layout.
  static bool lies_as(std::span<const shape::Dim> sizes, std::span<const shape::Dim> strides,
                      const Dims& wanted) {
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (!(sizes[d] == shape::Dim(1)) && !(strides[d] == wanted[d])) return false;
    }
    return true;
  }

  // Memory that nobody but nodes of the graph sees, laid out as eager code would have it.
  bool is_own_image(ValueId id) const {
    const ir::Value& value = from_.value(id);
    return value.is_tensor() && value.rank == 4 && value.has_strides &&
           value.layout == ir::Layout::kStrided && value.alias == ir::AliasKind::kFresh &&
           has_alias_[index(id)] == 0 && has_numbers(id) && !facts_.is_written(id) && !facts_.is_output(id) &&
           lies_as(from_.sizes(id), from_.strides(id), channels_first(from_.sizes(id)));
  }
  bool gives_image(const ir::Node& node) const {
    return node.output_count == 1 && is_own_image(node.first_output);
  }

  void rewrite(const ir::Node& node) {
    const std::string& name = from_.op_of(node).name;
    if (is_convolution(node) && gives_image(node)) {
      std::vector<Operand> operands = copy_.operands(node);
      operands[0] = Operand::of(in_channels_last(from_.operands(node)[0].value, node));
      operands[1] = Operand::of(in_channels_last(from_.operands(node)[1].value, node));
      append(node, operands);
      return;
    }
    const Rule* rule = find_rule(name);
    const bool is_kernel = rule && is_elementwise(rule->kind) && computes(from_, memory_, node, *rule);
    const bool follows_input = follows_layout(name) || norms_groups(from_, facts_, node);
    if ((is_kernel || follows_input) && gives_image(node)) {
      bool follows = false;
      from_.for_each_use(node, [&](ValueId id) {
        const bool is_whole = std::ranges::equal(from_.sizes(id), from_.sizes(node.first_output));
        follows = follows || (last_[index(id)] != 0 && (is_whole || !is_kernel));
      });
      if (follows) {
        append(node, copy_.operands(node));
        return;
      }
    }
    // Kernels read whatever lies wherever; a mean over the whole image has no layout.
    if (!is_kernel && !is_mean_of_image(node)) from_.for_each_use(node, [&](ValueId id) { plain(id, node); });
    copy_.keep(node);
  }

  bool is_mean_of_image(const ir::Node& node) const {
    if (from_.op_of(node).name != "aten::adaptive_avg_pool2d" || node.output_count != 1) return false;
    const auto sizes = from_.sizes(node.first_output);
    return sizes.size() == 4 && sizes[2] == shape::Dim(1) && sizes[3] == shape::Dim(1) &&
           !facts_.is_output(node.first_output);
  }

  // The node, with its result in channels last.
  void append(const ir::Node& node, std::span<const Operand> operands) {
    ir::ValueSpec spec = copy_.spec(node.first_output);
    const Dims strides = channels_last(spec.sizes);
    spec.strides = strides;
    copy_.stands_for(node.first_output, copy_.add(node.op, operands, spec, node));
    last_[index(node.first_output)] = 1;
  }

  ValueId rearranged(ValueId id, const Dims& strides, ir::MemoryFormat format, const ir::Node& node) {
    ir::ValueSpec spec = copy_.spec(id);
    spec.strides = strides;
    spec.storage_offset = 0;
    spec.flags = 0;
    const ir::OpId op = pass::pure_operator(copy_.to(), "aten::contiguous", {"self", "memory_format"});
    const std::array<Operand, 2> operands = {Operand::of(copy_.now(id)), Operand::of(format)};
    return copy_.add(op, operands, spec, node);
  }

  ValueId in_channels_last(ValueId id, const ir::Node& node) {
    const Dims wanted = channels_last(from_.sizes(id));
    if (last_[index(id)] != 0 || lies_as(from_.sizes(id), from_.strides(id), wanted)) return copy_.now(id);
    const auto found = turned_.find(index(id));
    if (found != turned_.end() && !facts_.is_written(id)) return found->second;
    return turned_[index(id)] = rearranged(id, wanted, ir::MemoryFormat::kChannelsLast, node);
  }

  // What reads it from here on reads it as eager code would have laid it out.
  void plain(ValueId id, const ir::Node& node) {
    if (last_[index(id)] == 0) return;
    turned_[index(id)] = copy_.now(id);
    const ir::ValueSpec spec = copy_.spec(id);
    const Dims strides(spec.strides.begin(), spec.strides.end());
    copy_.stands_for(id, rearranged(id, strides, ir::MemoryFormat::kContiguous, node));
    last_[index(id)] = 0;
  }

  const ir::Graph& from_;
  const Memory memory_;
  const pass::AliasFacts facts_;
  GraphCopy copy_;
  std::vector<char> has_alias_;         // by alias set: it has more than one value
  std::vector<char> last_;              // by the old id: what stands for it has its channels last
  std::map<uint32_t, ValueId> turned_;  // by the old id: the same, channels last
};

}  // namespace

ir::Graph with_channels_last(const ir::Graph& graph) {
  if (auto made = Rewriter(graph).run()) return std::move(*made);
  GraphCopy copy(graph);
  for (const ir::Node& node : graph.nodes()) copy.keep(node);
  return copy.finish();
}

}  // namespace stator::fused
