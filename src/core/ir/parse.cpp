// src/core/ir/parse.cpp: the statements of a graph text.
#include "core/ir/parse.h"

#include <algorithm>

#include "core/ir/graph_reader.h"
#include "core/ir/text_format.h"
#include "core/shape/context.h"
#include "core/shape/text.h"

namespace stator::ir {

Result<Graph, ParseError> parse(std::string_view text, std::shared_ptr<OperatorTable> operators) {
  GraphReader reader(text, std::move(operators));
  reader.read();
  if (reader.cursor().ok()) return reader.take();
  std::string_view before = text.substr(0, reader.cursor().error_at());
  size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  return ParseError{.line = static_cast<int>(std::ranges::count(before, '\n')) + 1,
                    .column = static_cast<int>(before.size() - line_start) + 1,
                    .message = reader.cursor().error()};
}

void GraphReader::read() {
  cursor_.skip_blank_lines();
  if (!cursor_.accept_word("graph")) cursor_.fail("expected 'graph'");
  cursor_.expect("{");
  cursor_.expect_line_end();
  bool returned = false;
  while (cursor_.ok() && !returned) {
    cursor_.skip_blank_lines();
    returned = cursor_.accept_word("return");
    if (returned) {
      read_return();
    } else {
      read_statement();
    }
  }
  cursor_.skip_blank_lines();
  cursor_.expect("}");
  cursor_.skip_blank_lines();
  if (cursor_.ok() && !cursor_.at_end()) cursor_.fail("expected the end of the text");
}

void GraphReader::read_statement() {
  if (cursor_.at_end() || cursor_.peek() == '}') {
    cursor_.fail("expected a statement or 'return'");
  } else if (cursor_.accept_word("operator")) {
    read_operator();
  } else if (cursor_.accept_word("symbol")) {
    read_symbol();
  } else if (cursor_.accept_word("guard")) {
    read_guard();
  } else if (cursor_.accept_word("constant")) {
    read_constant();
  } else {
    read_definitions();
  }
  cursor_.expect_line_end();
}

std::string_view GraphReader::operator_name() {
  if (!cursor_.ok()) return {};
  cursor_.skip_spaces();
  size_t start = cursor_.at();
  while (is_identifier_char(cursor_.peek()) || cursor_.peek() == ':' || cursor_.peek() == '.') {
    cursor_.move_to(cursor_.at() + 1);
  }
  size_t end = cursor_.at();
  cursor_.move_to(start);
  std::string_view name = cursor_.rest().substr(0, end - start);
  if (!is_operator_name(name)) {
    cursor_.fail("expected an operator such as aten::add.Tensor");
    return {};
  }
  cursor_.move_to(end);
  return name;
}

void GraphReader::read_operator() {
  Operator op;
  op.name = operator_name();
  cursor_.expect("(");
  while (cursor_.ok() && !cursor_.accept(")")) {
    if (!op.arguments.empty()) cursor_.expect(",");
    if (cursor_.accept("*")) {
      op.first_keyword = static_cast<uint32_t>(op.arguments.size());
      cursor_.expect(",");
    }
    std::string_view name = cursor_.identifier("an argument name");
    op.arguments.emplace_back(name == "_" ? "" : name);
    if (cursor_.accept("!")) op.writes |= uint64_t{1} << std::min<size_t>(op.arguments.size() - 1, 63);
  }
  for (cursor_.skip_spaces(); cursor_.ok() && is_identifier_char(cursor_.peek()); cursor_.skip_spaces()) {
    size_t at = cursor_.at();
    std::string_view word = cursor_.identifier("a flag");
    auto flag = std::ranges::find(kFlagTexts, word, &FlagText::text);
    if (flag == kFlagTexts.end()) return cursor_.fail_at(at, "unknown flag '" + std::string(word) + "'");
    op.flags = op.flags | flag->flag;
  }
  if (cursor_.ok()) graph_.operators().add(std::move(op));
}

void GraphReader::read_symbol() {
  cursor_.skip_spaces();
  size_t at = cursor_.at();
  std::string_view name = cursor_.identifier("the name of a symbol");
  if (!cursor_.ok()) return;
  if (!is_identifier(name) || is_reserved(name))
    return cursor_.fail_at(at, "this cannot be the name of a symbol");
  if (graph_.shapes().find_symbol(name)) return cursor_.fail_at(at, "the symbol is already defined");
  std::optional<int64_t> hint;
  if (cursor_.accept("=")) hint = cursor_.integer();
  shape::Range range;
  cursor_.expect("in");
  cursor_.expect("[");
  if (!cursor_.accept("-inf")) range.low = cursor_.integer();
  cursor_.expect(",");
  if (!cursor_.accept("inf")) range.high = cursor_.integer();
  cursor_.expect("]");
  std::string source = read_comment();
  if (cursor_.ok()) graph_.shapes().add_symbol(name, source, range, hint);
}

void GraphReader::read_guard() {
  cursor_.skip_spaces();
  size_t at = cursor_.at();
  shape::ParsedExpr parsed = shape::parse_expr(graph_.shapes(), cursor_.rest());
  cursor_.move_to(at + parsed.end);
  if (!parsed.error.empty()) return cursor_.fail(parsed.error);
  if (!graph_.shapes().exprs().is_predicate(parsed.expr)) {
    return cursor_.fail_at(at, "expected a comparison that the ranges do not decide");
  }
  LineId line = read_line_comment();
  if (cursor_.ok()) graph_.shapes().add_guard(parsed.expr, line);
}

void GraphReader::read_constant() {
  cursor_.expect("@");
  cursor_.skip_spaces();
  size_t at = cursor_.at();
  uint32_t index = cursor_.index(UINT32_MAX);
  if (cursor_.ok() && index != graph_.constants().size())
    cursor_.fail_at(at, "constants are numbered in order from 0");
  std::string text = cursor_.quoted();
  if (cursor_.ok()) graph_.constant(nullptr, std::move(text));
}

// `%0: T = input name` or `%1: T, %2: T = operator(…)` or `operator(…)`.
void GraphReader::read_definitions() {
  std::vector<Definition> definitions;
  if (cursor_.peek() == '%') {
    do {
      definitions.push_back(read_definition());
    } while (cursor_.accept(","));
    cursor_.expect("=");
    if (cursor_.accept_word("input")) {
      if (definitions.size() != 1) return cursor_.fail("an input defines one value");
      return read_input(&definitions[0]);
    }
  }
  read_node(&definitions);
}

void GraphReader::check_undefined(const Definition& definition) {
  uint32_t id = index(definition.id);
  if (id < graph_.values_.size() && graph_.values_[id].kind != ValueKind::kUndefined) {
    cursor_.fail_at(definition.at, "%" + std::to_string(id) + " is already defined");
  }
}

void GraphReader::enter(Definition* definition, NodeId node) {
  definition->spec.sizes = definition->sizes;
  definition->spec.strides = definition->strides;
  check_undefined(*definition);
  if (cursor_.ok()) graph_.define(definition->id, definition->spec, node);
}

void GraphReader::read_input(Definition* definition) {
  std::string_view name = cursor_.identifier("the name of the input");
  std::string source = read_comment();
  enter(definition, NodeId::kNone);
  if (!cursor_.ok()) return;
  graph_.inputs_.push_back({definition->id, graph_.strings_.intern(name), graph_.strings_.intern(source)});
}

void GraphReader::read_node(std::vector<Definition>* definitions) {
  cursor_.skip_spaces();
  size_t at = cursor_.at();
  std::string_view name = operator_name();
  std::vector<Operand> operands;
  std::vector<std::string> keywords;
  cursor_.expect("(");
  while (cursor_.ok() && !cursor_.accept(")")) {
    if (!operands.empty()) cursor_.expect(",");
    cursor_.skip_spaces();
    size_t start = cursor_.at();
    std::string keyword;
    if (is_identifier_char(cursor_.peek())) keyword = cursor_.identifier("a keyword");
    if (keyword.empty() || cursor_.peek() != '=') {
      keyword.clear();
      cursor_.move_to(start);
    } else {
      cursor_.expect("=");
    }
    if (keyword.empty() && !keywords.empty() && !keywords.back().empty())
      cursor_.fail("expected a keyword argument");
    keywords.push_back(std::move(keyword));
    operands.push_back(read_operand());
  }
  OpId op = operator_for_call(name, keywords, at);
  LineId line = read_line_comment();
  for (size_t i = 1; i < definitions->size() && cursor_.ok(); ++i) {
    if (index((*definitions)[i].id) != index((*definitions)[0].id) + i) {
      cursor_.fail_at((*definitions)[i].at, "outputs of one node have consecutive numbers");
    }
  }
  if (!cursor_.ok()) return;

  NodeId node = graph_.append(op, operands, {}, line);
  for (Definition& definition : *definitions) enter(&definition, node);
  graph_.nodes_.back().output_count = static_cast<uint32_t>(definitions->size());
  if (!definitions->empty()) graph_.nodes_.back().first_output = (*definitions)[0].id;
}

// Finds the operator or makes it; keyword names that the table does not know yet are learnt from the call.
OpId GraphReader::operator_for_call(std::string_view name, const std::vector<std::string>& keywords,
                                    size_t at) {
  if (!cursor_.ok()) return {};
  Operator fresh;
  fresh.name = name;
  OpId id = graph_.operators().add(std::move(fresh));
  for (size_t i = 0; i < keywords.size(); ++i) {
    const Operator& op = graph_.operators()[id];
    bool known = i >= op.first_keyword && i < op.arguments.size();
    if (known ? op.arguments[i] == keywords[i] : keywords[i].empty()) continue;
    if (known || (op.first_keyword != UINT32_MAX && i < op.first_keyword) || i < op.arguments.size()) {
      cursor_.fail_at(
          at, "argument " + std::to_string(i) + " of " + op.name +
                  (keywords[i].empty() ? " needs its keyword" : " has no keyword '" + keywords[i] + "'"));
      return id;
    }
    Operator& learnt = graph_.operators().mutable_entry(id);
    learnt.arguments.resize(i);
    learnt.arguments.push_back(keywords[i]);
    if (learnt.first_keyword == UINT32_MAX) learnt.first_keyword = static_cast<uint32_t>(i);
  }
  return id;
}

void GraphReader::read_return() {
  std::vector<ValueId> outputs;
  cursor_.skip_spaces();
  if (cursor_.peek() == '%') {
    do {
      outputs.push_back(read_value_use());
    } while (cursor_.accept(","));
  }
  cursor_.expect_line_end();
  graph_.set_outputs(outputs);
}

}  // namespace stator::ir
