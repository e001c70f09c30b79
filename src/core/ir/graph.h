// src/core/ir/graph.h: the captured program as flat arrays: nodes, operands, values, inputs, outputs.
//
// Nodes stand in program order, and that order is the meaning: replay runs each node once, from first to
// last. Views and in-place writes are recorded as they are; Value::storage says which values share memory.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/ir/operand.h"
#include "core/ir/operator.h"
#include "core/ir/value.h"
#include "core/string_table.h"
#include "core/user_line.h"

namespace stator::shape {
class Context;
}

namespace stator::ir {

// Ids of the pseudo-operators: the same in every OperatorTable.
namespace op {
enum : uint32_t {
#define STATOR_OP(identifier, name, flags, arguments) identifier##Index,
#include "core/ir/ops.def"
  kPseudoCount
};
#define STATOR_OP(identifier, name, flags, arguments) inline constexpr OpId identifier{identifier##Index};
#include "core/ir/ops.def"
}  // namespace op

struct Node {
  OpId op;
  uint32_t first_operand;
  uint32_t operand_count;
  ValueId first_output;  // outputs are consecutive ids
  uint32_t output_count;
  LineId line;
};

struct Input {
  ValueId value;
  StringId name;    // unique identifier, a placeholder's name in FX
  StringId source;  // how to fetch it again, as text: L["x"].weight
};

// An object the graph holds but does not understand: a tensor literal, a generator, a callable.
struct Constant {
  std::shared_ptr<void> object;  // null in a graph that was read from text
  std::string text;              // for people
};

// Consecutive value ids, iterable.
struct ValueRange {
  ValueId first = ValueId::kNone;
  uint32_t count = 0;
  struct Iterator {
    uint32_t at;
    ValueId operator*() const { return ValueId{at}; }
    Iterator& operator++() { return ++at, *this; }
    bool operator!=(const Iterator& other) const { return at != other.at; }
  };
  Iterator begin() const { return {index(first)}; }
  Iterator end() const { return {index(first) + count}; }
  ValueId operator[](uint32_t i) const { return ValueId{index(first) + i}; }
};

class Graph {
 public:
  // Parts that are not given are made new. Graphs move but do not copy.
  explicit Graph(std::shared_ptr<OperatorTable> operators = nullptr,
                 std::shared_ptr<UserLines> lines = nullptr,
                 std::shared_ptr<shape::Context> shapes = nullptr);

  // -- Making operands (inline ones: Operand::of)
  // -------------------------------------------------------------
  Operand string(std::string_view text);
  Operand complex(std::complex<double> number);
  Operand int_list(std::span<const int64_t> numbers);
  Operand dim_list(std::span<const shape::Dim> dims);  // kIntList if all are numbers
  Operand double_list(std::span<const double> numbers);
  Operand bool_list(std::span<const bool> bits);
  Operand value_list(std::span<const ValueId> values);
  Operand optional_value_list(std::span<const ValueId> values);
  Operand list(std::span<const Operand> elements);
  Operand constant(std::shared_ptr<void> object, std::string text);  // a new row of the constants table

  // -- Appending
  // ---------------------------------------------------------------------------------------------- Inputs may
  // be added at any time (a parameter is lifted when it is first used).
  ValueId add_input(std::string_view name, std::string_view source, const ValueSpec& spec);
  NodeId append(OpId op, std::span<const Operand> operands, std::span<const ValueSpec> outputs,
                LineId line = LineId::kNone);
  void set_outputs(std::span<const ValueId> outputs) { outputs_.assign(outputs.begin(), outputs.end()); }

  // -- Reading
  // ------------------------------------------------------------------------------------------------
  std::span<const Node> nodes() const { return nodes_; }
  const Node& node(NodeId id) const { return nodes_[index(id)]; }
  std::span<const Operand> operands(const Node& node) const {
    return {operands_.data() + node.first_operand, node.operand_count};
  }
  std::span<const Operand> operands(NodeId id) const { return operands(node(id)); }
  static ValueRange outputs(const Node& node) { return {node.first_output, node.output_count}; }
  ValueRange outputs(NodeId id) const { return outputs(node(id)); }

  size_t value_count() const { return values_.size(); }  // ids are below this; some may be undefined
  const Value& value(ValueId id) const { return values_[index(id)]; }
  std::span<const shape::Dim> sizes(const Value& v) const { return {dims_.data() + v.dims, v.rank}; }
  std::span<const shape::Dim> strides(const Value& v) const {
    return {dims_.data() + v.dims + v.rank, v.has_strides ? v.rank : 0u};
  }
  std::span<const shape::Dim> sizes(ValueId id) const { return sizes(value(id)); }
  std::span<const shape::Dim> strides(ValueId id) const { return strides(value(id)); }

  std::span<const Input> inputs() const { return inputs_; }
  std::span<const ValueId> outputs() const { return outputs_; }
  std::span<const Constant> constants() const { return constants_; }
  const Operator& op_of(const Node& node) const { return (*operators_)[node.op]; }
  const std::string& text(StringId id) const { return strings_[id]; }

  const std::string& string(const Operand& o) const { return strings_[StringId{o.index}]; }
  std::complex<double> complex(const Operand& o) const { return {doubles_[o.index], doubles_[o.index + 1]}; }
  std::span<const int64_t> ints(const Operand& o) const {
    return {ints_.data() + o.index, o.count};
  }  // and bools: 0, 1
  std::span<const shape::Dim> dims(const Operand& o) const { return {dims_.data() + o.index, o.count}; }
  std::span<const double> doubles(const Operand& o) const { return {doubles_.data() + o.index, o.count}; }
  std::span<const ValueId> values(const Operand& o) const { return {value_lists_.data() + o.index, o.count}; }
  std::span<const Operand> elements(const Operand& o) const { return {operands_.data() + o.index, o.count}; }
  const Constant& constant(const Operand& o) const { return constants_[o.index]; }

  // Calls visit(ValueId) for each value the operand or node uses, lists included, absent elements not.
  template <class Visit>
  void for_each_value(const Operand& operand, Visit&& visit) const;
  template <class Visit>
  void for_each_use(const Node& node, Visit&& visit) const {
    for (const Operand& operand : operands(node)) for_each_value(operand, visit);
  }

  OperatorTable& operators() const { return *operators_; }
  UserLines& lines() const { return *lines_; }
  shape::Context& shapes() const { return *shapes_; }
  const std::shared_ptr<OperatorTable>& shared_operators() const { return operators_; }
  const std::shared_ptr<UserLines>& shared_lines() const { return lines_; }
  const std::shared_ptr<shape::Context>& shared_shapes() const { return shapes_; }

  // -- Changing (passes)
  // -------------------------------------------------------------------------------------- Removes the nodes
  // whose flag is set; their outputs become undefined. Precondition: nothing kept uses them.
  void remove_nodes(const std::vector<bool>& removed);
  // Uses of value i become uses of replacement[i]: in operands, alias bases, storages and graph outputs.
  void replace_values(std::span<const ValueId> replacement);
  // Turns a node into another one with the same outputs, which become fresh. Operands are made by this graph.
  void rewrite_node(NodeId id, OpId op, std::span<const Operand> operands);

  void reserve(size_t nodes);

 private:
  friend class GraphReader;  // the parser, which defines values by the ids of the text

  ValueId define(ValueId id, const ValueSpec& spec, NodeId node);
  void recompute_storages();
  ValueId next_value() const { return ValueId{static_cast<uint32_t>(values_.size())}; }

  std::vector<Node> nodes_;
  std::vector<Operand> operands_;
  std::vector<Value> values_;
  std::vector<Input> inputs_;
  std::vector<ValueId> outputs_;
  std::vector<Constant> constants_;
  // Pools behind operands and values.
  std::vector<shape::Dim> dims_;
  std::vector<int64_t> ints_;
  std::vector<double> doubles_;
  std::vector<ValueId> value_lists_;
  StringTable strings_;

  std::shared_ptr<OperatorTable> operators_;
  std::shared_ptr<UserLines> lines_;
  std::shared_ptr<shape::Context> shapes_;
};

template <class Visit>
void Graph::for_each_value(const Operand& operand, Visit&& visit) const {
  switch (operand.kind) {
    case OperandKind::kValue:
      visit(operand.value);
      break;
    case OperandKind::kValueList:
    case OperandKind::kOptionalValueList:
      for (ValueId id : values(operand)) {
        if (id != ValueId::kNone) visit(id);
      }
      break;
    case OperandKind::kList:
      for (const Operand& element : elements(operand)) for_each_value(element, visit);
      break;
    default:
      break;
  }
}

}  // namespace stator::ir
