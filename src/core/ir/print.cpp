// src/core/ir/print.cpp: writes a graph as text, one statement a line.
#include "core/ir/print.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "core/ir/text_format.h"
#include "core/quoted_text.h"
#include "core/shape/text.h"

namespace stator::ir {
namespace {

class Printer {
 public:
  Printer(const Graph& graph, PrintOptions options) : graph_(graph), options_(options) {}

  std::string print() {
    out_ = "graph {\n";
    if (options_.operators) print_operators();
    print_symbols();
    for (size_t i = 0; i < graph_.constants().size(); ++i) {
      out_ += "  constant @" + std::to_string(i) + " ";
      append_quoted(graph_.constants()[i].text, &out_);
      out_ += '\n';
    }
    for (const Input& input : graph_.inputs()) {
      out_ += "  ";
      print_definition(input.value);
      out_ += " = input " + graph_.text(input.name);
      print_comment(graph_.text(input.source));
    }
    for (const Node& node : graph_.nodes()) {
      out_ += "  ";
      print_node(node);
      print_line_comment(node.line);
    }
    out_ += "  return";
    print_joined(
        graph_.outputs(), [&](ValueId id) { print_value(id); }, " ");
    out_ += "\n}\n";
    return std::move(out_);
  }

  std::string type(ValueId id) {
    print_type(graph_.value(id));
    return std::move(out_);
  }
  std::string call(const Node& node) {
    print_call(node);
    return std::move(out_);
  }

 private:
  template <class Range, class PrintOne>
  void print_joined(const Range& range, PrintOne print_one, const char* before = "") {
    bool first = true;
    for (const auto& element : range) {
      out_ += first ? before : ", ";
      first = false;
      print_one(element);
    }
  }

  void print_value(ValueId id) { out_ += id == ValueId::kNone ? "none" : "%" + std::to_string(index(id)); }

  void print_operators() {
    std::vector<OpId> used;
    for (const Node& node : graph_.nodes()) {
      if (static_cast<uint32_t>(node.op) >= op::kPseudoCount) used.push_back(node.op);
    }
    auto name = [&](OpId id) -> const std::string& { return graph_.operators()[id].name; };
    std::ranges::sort(used, {}, name);
    used.erase(std::unique(used.begin(), used.end()), used.end());
    for (OpId id : used) print_operator(graph_.operators()[id]);
  }

  void print_operator(const Operator& op) {
    out_ += "  operator " + op.name + "(";
    for (size_t i = 0; i < op.arguments.size(); ++i) {
      if (i != 0) out_ += ", ";
      if (i == op.first_keyword) out_ += "*, ";
      out_ += op.arguments[i].empty() ? "_" : op.arguments[i];
      if (i < 64 && (op.writes >> i & 1) != 0) out_ += '!';
    }
    out_ += ')';
    for (const FlagText& flag : kFlagTexts) {
      if (op.flags.has(flag.flag)) out_ += ' ' + std::string(flag.text);
    }
    out_ += '\n';
  }

  void print_symbols() {
    const shape::Context& shapes = graph_.shapes();
    auto print_end = [&](int64_t end) {
      bool infinite = end == shape::Range::kLowest || end == shape::Range::kHighest;
      out_ += infinite ? (end < 0 ? "-inf" : "inf") : std::to_string(end);
    };
    for (const shape::Symbol& symbol : shapes.symbols()) {
      out_ += "  symbol " + symbol.name;
      if (symbol.hint) out_ += " = " + std::to_string(*symbol.hint);
      out_ += " in [";
      print_end(symbol.range.low);
      out_ += ", ";
      print_end(symbol.range.high);
      out_ += ']';
      print_comment(symbol.source);
    }
    for (const shape::SizeGuard& guard : shapes.guards()) {
      out_ += "  guard ";
      shape::append_text(shapes, guard.predicate, &out_);
      print_line_comment(guard.line);
    }
  }

  void print_dim(shape::Dim dim) {
    if (dim.is_expr()) {
      shape::append_text(graph_.shapes(), dim.expr(), &out_);
    } else {
      out_ += std::to_string(dim.number());
    }
  }

  void print_dims(std::span<const shape::Dim> dims, char open, char close) {
    out_ += open;
    for (size_t i = 0; i < dims.size(); ++i) {
      if (i != 0) out_ += ',';
      print_dim(dims[i]);
    }
    out_ += close;
  }

  void print_type(const Value& value) {
    if (!value.is_tensor()) {
      out_ += kind_text(value.kind);
      return;
    }
    out_ += text(value.dtype);
    print_dims(graph_.sizes(value), '[', ']');
    if (value.has_strides) print_dims(graph_.strides(value), '{', '}');
    if (value.storage_offset.is_expr()) {
      out_ += "+(";
      print_dim(value.storage_offset);
      out_ += ')';
    } else if (value.storage_offset != shape::Dim(0)) {
      out_ += '+';
      print_dim(value.storage_offset);
    }
    if (value.device != Device{}) {
      out_ += '@';
      print_device(value.device);
    }
    if (value.layout != Layout::kStrided) out_ += " layout(" + std::string(text(value.layout)) + ")";
    for (const ValueFlagText& flag : kValueFlagTexts) {
      if ((value.flags & flag.flag) != 0) out_ += ' ' + std::string(flag.text);
    }
  }

  void print_device(Device device) {
    out_ += text(device.type);
    if (device.index >= 0) out_ += ':' + std::to_string(device.index);
  }

  void print_definition(ValueId id) {
    const Value& value = graph_.value(id);
    print_value(id);
    out_ += ": ";
    print_type(value);
    if (value.alias == AliasKind::kFresh) return;
    out_ += ' ' + std::string(alias_text(value.alias)) + '(';
    print_value(value.base);
    out_ += ')';
  }

  void print_node(const Node& node) {
    print_joined(Graph::outputs(node), [&](ValueId id) { print_definition(id); });
    if (node.output_count != 0) out_ += " = ";
    print_call(node);
  }

  void print_call(const Node& node) {
    const Operator& op = graph_.op_of(node);
    out_ += op.name + '(';
    auto operands = graph_.operands(node);
    for (size_t i = 0; i < operands.size(); ++i) {
      if (i != 0) out_ += ", ";
      if (i >= op.first_keyword && i < op.arguments.size()) out_ += op.arguments[i] + '=';
      print_operand(operands[i]);
    }
    out_ += ')';
  }

  void print_double(double number) {
    if (std::isnan(number)) {
      out_ += "nan";
      return;
    }
    char buffer[40];
    auto end = std::to_chars(buffer, buffer + sizeof buffer, number).ptr;
    std::string_view digits(buffer, static_cast<size_t>(end - buffer));
    out_ += digits;
    if (digits.find_first_of(".einf") == std::string_view::npos) out_ += ".0";
  }

  template <class Range, class PrintOne>
  void print_list(const char* type_if_empty, const Range& elements, PrintOne print_one) {
    if (elements.empty()) out_ += type_if_empty;
    out_ += '[';
    print_joined(elements, print_one);
    out_ += ']';
  }

  void print_operand(const Operand& o) {
    switch (o.kind) {
      case OperandKind::kNone:
        out_ += "none";
        break;
      case OperandKind::kValue:
        print_value(o.value);
        break;
      case OperandKind::kBool:
        out_ += o.boolean ? "true" : "false";
        break;
      case OperandKind::kInt:
        out_ += std::to_string(o.integer);
        break;
      case OperandKind::kDouble:
        print_double(o.real);
        break;
      case OperandKind::kComplex:
        out_ += "complex(";
        print_double(graph_.complex(o).real());
        out_ += ", ";
        print_double(graph_.complex(o).imag());
        out_ += ')';
        break;
      case OperandKind::kString:
        append_quoted(graph_.string(o), &out_);
        break;
      case OperandKind::kDType:
        out_ += "dtype(" + std::string(text(o.dtype)) + ")";
        break;
      case OperandKind::kLayout:
        out_ += "layout(" + std::string(text(o.layout)) + ")";
        break;
      case OperandKind::kDevice:
        out_ += "device(";
        print_device(o.device);
        out_ += ')';
        break;
      case OperandKind::kMemoryFormat:
        out_ += "memory_format(" + std::string(text(o.memory_format)) + ")";
        break;
      case OperandKind::kSymInt:
        shape::append_text(graph_.shapes(), o.expr, &out_);
        break;
      case OperandKind::kIntList:
        print_list("int", graph_.ints(o), [&](int64_t i) { out_ += std::to_string(i); });
        break;
      case OperandKind::kSymIntList:
        print_list("int", graph_.dims(o), [&](shape::Dim dim) { print_dim(dim); });
        break;
      case OperandKind::kDoubleList:
        print_list("float", graph_.doubles(o), [&](double d) { print_double(d); });
        break;
      case OperandKind::kBoolList:
        print_list("bool", graph_.ints(o), [&](int64_t b) { out_ += b != 0 ? "true" : "false"; });
        break;
      case OperandKind::kValueList:
        print_list("value", graph_.values(o), [&](ValueId id) { print_value(id); });
        break;
      case OperandKind::kOptionalValueList:
        out_ += '?';
        print_list("", graph_.values(o), [&](ValueId id) { print_value(id); });
        break;
      case OperandKind::kList:
        out_ += "list(";
        print_joined(graph_.elements(o), [&](const Operand& element) { print_operand(element); });
        out_ += ')';
        break;
      case OperandKind::kOpaque:
        out_ += '@' + std::to_string(o.index);
        break;
    }
  }

  void print_comment(std::string_view text) {
    if (!text.empty()) {
      out_ += "  # ";
      if (reads_back_bare(text)) {
        out_ += text;
      } else {
        append_quoted(text, &out_);
      }
    }
    out_ += '\n';
  }

  void print_line_comment(LineId id) {
    const char* before = "  # ";
    for (; id != LineId::kNone; id = graph_.lines()[id].caller, before = " < ") {
      const UserLine& line = graph_.lines()[id];
      std::string_view file = graph_.lines().text(line.file);
      if (!options_.stacks) file = file.substr(file.rfind('/') + 1);
      out_ += before;
      print_word(file);
      out_ += ':' + std::to_string(line.line);
      const std::string& function = graph_.lines().text(line.function);
      if (!options_.stacks) break;
      if (!function.empty()) {
        out_ += " in ";
        print_word(function);
      }
    }
    out_ += '\n';
  }

  void print_word(std::string_view word) {
    if (is_bare_word(word)) {
      out_ += word;
    } else {
      append_quoted(word, &out_);
    }
  }

  const Graph& graph_;
  PrintOptions options_;
  std::string out_;
};

}  // namespace

std::string print(const Graph& graph, PrintOptions options) { return Printer(graph, options).print(); }
std::string type_text(const Graph& graph, ValueId value) { return Printer(graph, {}).type(value); }
std::string node_text(const Graph& graph, const Node& node) { return Printer(graph, {}).call(node); }

}  // namespace stator::ir
