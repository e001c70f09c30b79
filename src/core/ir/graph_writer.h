// src/core/ir/graph_writer.h: the printer's state; statements and operands are written in one file each.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/ir/graph.h"
#include "core/ir/print.h"

namespace stator::ir {

class GraphWriter {
 public:
  explicit GraphWriter(const Graph& graph, PrintOptions options = {}) : graph_(graph), options_(options) {}

  // print.cpp
  void print_graph();
  void print_type(const Value& value);
  // print_operand.cpp
  void print_call(const Node& node);

  std::string take() { return std::move(out_); }

 private:
  // print.cpp
  void print_operators();
  void print_operator(const Operator& op);
  void print_symbols();
  void print_definition(ValueId id);
  void print_node(const Node& node);
  void print_dims(std::span<const shape::Dim> dims, char open, char close);
  void print_comment(std::string_view text);
  void print_line_comment(LineId id);
  void print_word(std::string_view word);

  // print_operand.cpp
  void print_operand(const Operand& o);
  void print_value(ValueId id);
  void print_dim(shape::Dim dim);
  void print_device(Device device);
  void print_double(double number);

  template <class Range, class PrintOne>
  void print_joined(const Range& range, PrintOne print_one, const char* before = "") {
    bool first = true;
    for (const auto& element : range) {
      out_ += first ? before : ", ";
      first = false;
      print_one(element);
    }
  }
  template <class Range, class PrintOne>
  void print_list(const char* type_if_empty, const Range& elements, PrintOne print_one) {
    if (elements.empty()) out_ += type_if_empty;
    out_ += '[';
    print_joined(elements, print_one);
    out_ += ']';
  }

  const Graph& graph_;
  PrintOptions options_;
  std::string out_;
};

}  // namespace stator::ir
