// src/backends/fused/plan/computable.cpp: what kernels ask of a node, its operands and its result.
#include "backends/fused/plan/computable.h"

#include <algorithm>

#include "backends/fused/kernel/llvm_text.h"
#include "backends/fused/plan/groups.h"
#include "core/ir/effects.h"
#include "core/shape/context.h"

namespace stator::fused {

using ir::ValueId;

namespace {

constexpr int64_t kMaxCopies = 8;   // of an element that a kernel makes
constexpr size_t kMaxParts = 8;     // of what a kernel puts together
constexpr int64_t kMaxWindow = 16;  // elements

// Loops run at least once.
bool may_be_empty(const ir::Graph& graph, ValueId id) {
  const shape::ExprTable& exprs = graph.shapes().exprs();
  return std::ranges::any_of(graph.sizes(id), [&](shape::Dim size) {
    return size.is_expr() ? exprs[size.expr()].range.low < 1 : size.number() < 1;
  });
}

bool are_numbers(std::span<const shape::Dim> dims) {
  return std::ranges::none_of(dims, [](shape::Dim dim) { return dim.is_expr(); });
}

// Tensors of one type, whose sizes differ along a known dimension only.
bool joins_parts(const ir::Graph& graph, const ir::Node& node) {
  const auto operands = graph.operands(node);
  if (operands.size() != 2 || operands[0].kind != ir::OperandKind::kValueList ||
      operands[1].kind != ir::OperandKind::kInt)
    return false;
  const auto parts = graph.values(operands[0]);
  const auto sizes = graph.sizes(node.first_output);
  const std::optional<size_t> along = joined_dimension(graph, node);
  if (!along || parts.size() < 2 || parts.size() > kMaxParts || !are_numbers({&sizes[*along], 1}))
    return false;
  return std::ranges::all_of(parts, [&](ValueId id) {
    if (id == ValueId::kNone || graph.value(id).dtype != graph.value(node.first_output).dtype) return false;
    const auto own = graph.sizes(id), strides = graph.strides(id);
    if (own.size() != sizes.size() || own[*along].is_expr() || strides[*along].is_expr()) return false;
    for (size_t d = 0; d < own.size(); ++d) {
      if (d != *along && !(own[d] == sizes[d])) return false;
    }
    return true;
  });
}

// One number stands for both; none for the other pair, if that is given.
std::optional<std::array<int64_t, 2>> pair_of(const ir::Graph& graph, const ir::Operand& operand,
                                              std::optional<std::array<int64_t, 2>> otherwise) {
  if (operand.kind == ir::OperandKind::kInt) return std::array{operand.integer, operand.integer};
  if (operand.kind != ir::OperandKind::kIntList) return {};
  const auto numbers = graph.ints(operand);
  if (numbers.empty()) return otherwise;
  if (numbers.size() > 2) return {};
  return std::array{numbers.front(), numbers.back()};
}

// A copy whose rows lie behind each other.
bool copies_elements(const ir::Graph& graph, const ir::Node& node) {
  const ir::Operand& self = graph.operands(node)[0];
  if (self.kind != ir::OperandKind::kValue ||
      graph.value(self.value).dtype != graph.value(node.first_output).dtype)
    return false;
  const auto sizes = graph.sizes(node.first_output), strides = graph.strides(node.first_output);
  if (!are_numbers(sizes) || !are_numbers(strides) || !are_numbers(graph.sizes(self.value))) return false;
  int64_t next = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    if (!(sizes[d] == shape::Dim(1)) && !(strides[d] == shape::Dim(next))) return false;
    next *= sizes[d].number();
  }
  return true;
}

}  // namespace

std::optional<size_t> joined_dimension(const ir::Graph& graph, const ir::Node& node) {
  const auto rank = static_cast<int64_t>(graph.value(node.first_output).rank);
  int64_t dim = graph.operands(node)[1].integer;
  if (dim < 0) dim += rank;
  if (dim < 0 || dim >= rank) return {};
  return static_cast<size_t>(dim);
}

std::optional<Window> window_of(const ir::Graph& graph, const ir::Node& node) {
  const auto operands = graph.operands(node);
  if (operands.size() != 6 || operands[0].kind != ir::OperandKind::kValue) return {};
  const ir::ValueId image = operands[0].value;
  const ir::DType dtype = graph.value(image).dtype;
  const bool is_float = dtype == ir::DType::kF16 || dtype == ir::DType::kBF16 || dtype == ir::DType::kF32 ||
                        dtype == ir::DType::kF64;
  if (!is_float || graph.value(image).rank != 4 || graph.value(node.first_output).rank != 4 ||
      !are_numbers(graph.sizes(image)) || !are_numbers(graph.strides(image)))
    return {};
  const auto size = pair_of(graph, operands[1], {});
  const auto step = size ? pair_of(graph, operands[2], *size) : std::nullopt;
  const auto padding = pair_of(graph, operands[3], {}), dilation = pair_of(graph, operands[4], {});
  if (!size || !step || !padding || !dilation || (*size)[0] * (*size)[1] > kMaxWindow) return {};
  for (size_t i = 0; i < 2; ++i) {
    if ((*size)[i] < 1 || (*step)[i] < 1 || (*padding)[i] < 0 || (*dilation)[i] < 1) return {};
  }
  return Window{*size, *step, *padding, *dilation};
}

bool computes(const ir::Graph& graph, const Memory& memory, const ir::Node& node, const Rule& rule) {
  if (node.output_count != 1) return false;
  const ir::Value& output = graph.value(node.first_output);
  if (output.alias != ir::AliasKind::kFresh || output.requires_grad()) return false;
  if (!memory.is_readable(node.first_output) || !ir::effects_of(graph, node).removable()) return false;
  if (may_be_empty(graph, node.first_output)) return false;
  const auto strides = graph.strides(node.first_output), sizes = graph.sizes(node.first_output);
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (strides[d] == shape::Dim(0) && !(sizes[d] == shape::Dim(1))) return false;
  }
  const bool fits_anywhere =
      rule.kind == RuleKind::joined || rule.kind == RuleKind::windowed || rule.kind == RuleKind::copied;
  bool readable = true;
  std::vector<size_t> places;
  const auto against = is_elementwise(rule.kind) ? sizes
                       : fits_anywhere           ? std::span<const shape::Dim>()
                                                 : graph.sizes(graph.operands(node)[0].value);
  graph.for_each_use(node, [&](ValueId id) {
    readable = readable && memory.is_readable(id) && !may_be_empty(graph, id) &&
               (fits_anywhere || Groups::places_of(graph.sizes(id), against, places, rule.kind));
  });
  if (!readable) return false;
  if (rule.kind == RuleKind::joined) return joins_parts(graph, node);
  if (rule.kind == RuleKind::windowed) return window_of(graph, node).has_value();
  if (rule.kind == RuleKind::copied && !copies_elements(graph, node)) return false;
  Kernel scratch;
  const auto load = [&](ValueId id) {
    scratch.terms.push_back({.op = Op::load, .type = *arithmetic_type(graph.value(id).dtype)});
    return static_cast<TermId>(scratch.terms.size() - 1);
  };
  try {
    NodeTerms terms(graph, node, scratch, load);
    const TermId result = rule.terms(terms);
    return terms.type_of(result) == terms.result();
  } catch (const NotFused&) {
    return false;
  }
}

Repeats repeats_of(const ir::Graph& graph, ValueId id) {
  const auto sizes = graph.sizes(id), strides = graph.strides(id);
  Repeats repeats{std::vector<char>(sizes.size()), {}, 1};
  for (size_t d = 0; d < sizes.size(); ++d) {
    const bool repeats_here = strides[d] == shape::Dim(0) && !sizes[d].is_expr() && sizes[d].number() > 1 &&
                              repeats.times * sizes[d].number() <= kMaxCopies;
    repeats.is_repeated[d] = repeats_here ? 1 : 0;
    if (repeats_here) {
      repeats.times *= sizes[d].number();
    } else {
      repeats.rest.push_back(sizes[d]);
    }
  }
  return repeats;
}

}  // namespace stator::fused
