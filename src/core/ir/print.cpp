// src/core/ir/print.cpp: the statements of a graph as text, one a line.
#include "core/ir/print.h"

#include <algorithm>
#include <vector>

#include "core/ir/graph_writer.h"
#include "core/ir/text_format.h"
#include "core/quoted_text.h"
#include "core/shape/context.h"
#include "core/shape/text.h"

namespace stator::ir {

std::string print(const Graph& graph, PrintOptions options) {
  GraphWriter writer(graph, options);
  writer.print_graph();
  return writer.take();
}

std::string type_text(const Graph& graph, ValueId value) {
  GraphWriter writer(graph);
  writer.print_type(graph.value(value));
  return writer.take();
}

std::string node_text(const Graph& graph, const Node& node) {
  GraphWriter writer(graph);
  writer.print_call(node);
  return writer.take();
}

void GraphWriter::print_graph() {
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
}

void GraphWriter::print_operators() {
  std::vector<OpId> used;
  for (const Node& node : graph_.nodes()) {
    if (static_cast<uint32_t>(node.op) >= op::kPseudoCount) used.push_back(node.op);
  }
  auto name = [&](OpId id) -> const std::string& { return graph_.operators()[id].name; };
  std::ranges::sort(used, {}, name);
  used.erase(std::unique(used.begin(), used.end()), used.end());
  for (OpId id : used) print_operator(graph_.operators()[id]);
}

void GraphWriter::print_operator(const Operator& op) {
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

void GraphWriter::print_symbols() {
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

void GraphWriter::print_dims(std::span<const shape::Dim> dims, char open, char close) {
  out_ += open;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i != 0) out_ += ',';
    print_dim(dims[i]);
  }
  out_ += close;
}

void GraphWriter::print_type(const Value& value) {
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

void GraphWriter::print_definition(ValueId id) {
  const Value& value = graph_.value(id);
  print_value(id);
  out_ += ": ";
  print_type(value);
  if (value.alias == AliasKind::kFresh) return;
  out_ += ' ' + std::string(alias_text(value.alias)) + '(';
  print_value(value.base);
  out_ += ')';
}

void GraphWriter::print_node(const Node& node) {
  print_joined(Graph::outputs(node), [&](ValueId id) { print_definition(id); });
  if (node.output_count != 0) out_ += " = ";
  print_call(node);
}

void GraphWriter::print_comment(std::string_view text) {
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

void GraphWriter::print_line_comment(LineId id) {
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

void GraphWriter::print_word(std::string_view word) {
  if (is_bare_word(word)) {
    out_ += word;
  } else {
    append_quoted(word, &out_);
  }
}

}  // namespace stator::ir
