// src/backends/fused/plan/node_terms.h: what an operator's rule sees of its node, and the terms that it
// makes.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "backends/fused/kernel/kernel.h"
#include "core/ir/graph.h"

namespace stator::fused {

// A rule throws it where kernels cannot compute this node: the node is left to torch.
struct NotFused {};

class NodeTerms {
 public:
  // The term of an operand's elements, as they stand in the kernel: a load, or what another node computes.
  using Resolve = std::function<TermId(ir::ValueId)>;

  NodeTerms(const ir::Graph& graph, const ir::Node& node, Kernel& kernel, Resolve resolve)
      : graph_(graph), node_(node), kernel_(kernel), resolve_(std::move(resolve)) {}

  // Arguments are asked for by the name in the operator's schema. A missing one is as one that is None.
  bool has(std::string_view name) const;
  bool is_tensor(std::string_view name) const;
  bool is_single(std::string_view name) const;   // a number, or a tensor of one element
  ir::DType dtype(std::string_view name) const;  // of a tensor
  double real(std::string_view name, double otherwise) const;
  int64_t integer(std::string_view name, int64_t otherwise) const;
  bool flag(std::string_view name, bool otherwise) const;
  std::string_view string(std::string_view name, std::string_view otherwise) const;
  std::vector<int64_t> ints(std::string_view name) const;  // a number is a list of one

  ir::DType result_dtype() const;
  bool is_on_cuda() const;
  Type result() const;  // what the result is computed in

  // A tensor or a number, in the given type. What has the result's element type is taken before it is
  // rounded.
  TermId operand(std::string_view name, Type type);
  // The same, as the tensor's own element type holds it: for comparisons and conversions.
  TermId exact(std::string_view name);

  TermId number(double value, Type type);
  TermId convert(TermId term, Type type);
  TermId rounded(TermId term, ir::DType dtype);  // as memory of this type would hold it
  TermId make(Op op, TermId a, TermId b = kNoTerm, TermId c = kNoTerm);  // of a's type; comparisons: boolean
  TermId make_as(Op op, Type type, TermId a, TermId b = kNoTerm, TermId c = kNoTerm);

  // Short forms.
  TermId add(TermId a, TermId b) { return make(Op::add, a, b); }
  TermId sub(TermId a, TermId b) { return make(Op::sub, a, b); }
  TermId mul(TermId a, TermId b) { return make(Op::mul, a, b); }
  TermId div(TermId a, TermId b) { return make(Op::div, a, b); }
  TermId select(TermId condition, TermId a, TermId b);
  TermId row_size(Type type) { return make_as(Op::row_size, type, kNoTerm); }
  Type type_of(TermId term) const { return kernel_.terms[term].type; }

  std::string_view op_name() const { return graph_.op_of(node_).name; }

 private:
  const ir::Operand* find(std::string_view name) const;

  const ir::Graph& graph_;
  const ir::Node& node_;
  Kernel& kernel_;
  Resolve resolve_;
};

enum class RuleKind : uint8_t {
  pointwise,   // the result has the elements of the broadcast operands
  by_channel,  // the same, but operands of one dimension run along dimension 1
  joined,      // the first argument's tensors behind each other; its terms are the plan's
  windowed,    // of the first argument, an image; its terms are the plan's
  copied,      // the elements of the first argument in their order, in other dimensions
  reduction,   // of `self` over dimensions; the result has one element a row
  normalizing  // of the first argument over dimensions; the result has all elements
};

// Of each element by itself.
constexpr bool is_elementwise(RuleKind kind) {
  return kind == RuleKind::pointwise || kind == RuleKind::by_channel;
}

// Whether its kernel runs over the elements of the result.
constexpr bool has_result_space(RuleKind kind) {
  return is_elementwise(kind) || kind == RuleKind::joined || kind == RuleKind::windowed;
}

struct Rule {
  TermId (*terms)(NodeTerms&) = nullptr;
  RuleKind kind = RuleKind::pointwise;
};

// Null if kernels do not know the operator.
const Rule* find_rule(std::string_view name);

// The dimensions, wrapped, that a node with a rule that is not pointwise goes over. Throws NotFused.
std::vector<size_t> reduced_dimensions(const ir::Graph& graph, const ir::Node& node);

}  // namespace stator::fused
