// src/backends/openxla/emit/call.h: what a rule sees of its node: arguments by name, results, the builder.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "backends/openxla/emit/builder.h"
#include "core/ir/graph.h"

namespace stator::openxla {

using Outputs = std::vector<Tensor>;

class Call {
 public:
  Call(const ir::Graph& graph, const ir::Node& node, std::span<const Tensor> values, Builder& builder)
      : b(builder), graph_(graph), node_(node), values_(values) {}

  Builder& b;

  // Arguments are asked for by the name in the operator's schema. A missing one is as one that is None.
  bool has(std::string_view name) const;  // given, and not None
  bool is_tensor(std::string_view name) const;
  Tensor tensor(std::string_view name) const;
  std::optional<Tensor> optional(std::string_view name) const;
  std::vector<Tensor> tensors(std::string_view name) const;
  std::vector<std::optional<Tensor>> optionals(std::string_view name) const;

  int64_t integer(std::string_view name) const;
  int64_t integer(std::string_view name, int64_t otherwise) const;
  int64_t truncated(std::string_view name, int64_t otherwise) const;  // an integer, exact, or of a real
  double real(std::string_view name) const;
  double real(std::string_view name, double otherwise) const;
  bool flag(std::string_view name, bool otherwise = false) const;
  Dims ints(std::string_view name) const;  // a number is a list of one
  std::vector<bool> flags(std::string_view name) const;
  std::string_view string(std::string_view name, std::string_view otherwise) const;
  std::optional<DType> dtype(std::string_view name) const;

  // A tensor, converted and broadcast; or a number as a constant.
  Tensor operand(std::string_view name, DType dtype, const Dims& dims) const;
  Tensor operand(std::string_view name, DType dtype) const;  // in its own shape
  // The type that torch's promotion gives the arguments.
  DType promoted(std::initializer_list<std::string_view> names) const;

  size_t outputs() const { return node_.output_count; }
  bool wanted(size_t i) const;  // the result is a tensor
  DType result_dtype(size_t i = 0) const;
  bool is_on_cuda() const;
  Dims result_dims(size_t i = 0) const;
  Dims strides_of(std::string_view name) const;  // as the graph records them; empty if it does not
  int64_t offset_of(std::string_view name) const;

  int64_t wrapped(int64_t dim, int64_t rank) const;
  int64_t dim(std::string_view name, int64_t rank) const { return wrapped(integer(name), rank); }
  Dims dims(std::string_view name, int64_t rank) const;  // wrapped, sorted; none or empty: all

  std::string_view op_name() const { return graph_.op_of(node_).name; }

 private:
  const ir::Operand* find(std::string_view name) const;
  const ir::Operand& required(std::string_view name) const;
  const Tensor& value(ir::ValueId id) const;

  const ir::Graph& graph_;
  const ir::Node& node_;
  std::span<const Tensor> values_;
};

using Rule = Outputs (*)(const Call&);

// The rule of an operator by its full name (aten::add.Tensor); null if there is none.
Rule find_rule(std::string_view name);
std::vector<std::string_view> rule_names();

}  // namespace stator::openxla
