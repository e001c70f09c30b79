// src/core/ir/parse_type.cpp: reading value definitions, types, sizes, and the comments at the ends of lines.
#include <algorithm>

#include "core/ir/graph_reader.h"
#include "core/ir/text_format.h"
#include "core/shape/context.h"
#include "core/shape/text.h"

namespace stator::ir {

ValueId GraphReader::read_value_id() {
  cursor_.expect("%");
  return ValueId{cursor_.index(kMaxValues)};
}

ValueId GraphReader::read_value_use() {
  cursor_.skip_spaces();
  size_t at = cursor_.at();
  ValueId id = read_value_id();
  if (cursor_.ok() && (index(id) >= graph_.value_count() || graph_.value(id).kind == ValueKind::kUndefined)) {
    cursor_.fail_at(at, "%" + std::to_string(index(id)) + " is not defined before it is used");
  }
  return id;
}

GraphReader::Definition GraphReader::read_definition() {
  Definition definition;
  cursor_.skip_spaces();
  definition.at = cursor_.at();
  definition.id = read_value_id();
  cursor_.expect(":");
  read_type(&definition);
  return definition;
}

void GraphReader::read_type(Definition* definition) {
  ValueSpec& spec = definition->spec;
  cursor_.skip_spaces();
  size_t at = cursor_.at();
  std::string_view word = cursor_.identifier("a type");
  if (!cursor_.ok()) return;
  if (cursor_.peek() == '[') {
    auto dtype = dtype_from_text(word);
    if (!dtype) return cursor_.fail_at(at, "unknown element type '" + std::string(word) + "'");
    spec.dtype = *dtype;
    cursor_.expect("[");
    read_dims(']', &definition->sizes);
    if (cursor_.peek() == '{') {
      cursor_.expect("{");
      size_t strides_at = cursor_.at();
      read_dims('}', &definition->strides);
      if (definition->strides.size() != definition->sizes.size()) {
        cursor_.fail_at(strides_at, "expected as many strides as sizes");
      }
    }
    if (cursor_.peek() == '+') {
      cursor_.expect("+");
      spec.storage_offset = read_dim();
    }
    if (cursor_.accept("@")) spec.device = read_device();
  } else {
    auto kind = std::ranges::find(kKindTexts, word);
    bool known = kind != kKindTexts.end() && word != kind_text(ValueKind::kUndefined);
    if (!known) return cursor_.fail_at(at, "unknown type '" + std::string(word) + "'");
    spec.kind = static_cast<ValueKind>(kind - kKindTexts.begin());
  }
  read_type_words(definition);
}

// layout(…), flags and the alias, in this order.
void GraphReader::read_type_words(Definition* definition) {
  ValueSpec& spec = definition->spec;
  if (cursor_.accept_word("layout")) {
    cursor_.expect("(");
    size_t at = cursor_.at();
    auto layout = layout_from_text(cursor_.identifier("a layout"));
    if (cursor_.ok() && !layout) cursor_.fail_at(at, "unknown layout");
    spec.layout = layout.value_or(Layout::kStrided);
    cursor_.expect(")");
  }
  for (const ValueFlagText& flag : kValueFlagTexts) {
    if (cursor_.accept_word(flag.text)) spec.flags |= flag.flag;
  }
  for (AliasKind kind : {AliasKind::kSame, AliasKind::kView, AliasKind::kShares}) {
    if (!cursor_.accept_word(alias_text(kind))) continue;
    cursor_.expect("(");
    spec.alias = {kind, read_value_use()};
    cursor_.expect(")");
  }
}

void GraphReader::read_dims(char close, std::vector<shape::Dim>* dims) {
  const std::string end(1, close);
  while (cursor_.ok() && !cursor_.accept(end)) {
    if (!dims->empty()) cursor_.expect(",");
    dims->push_back(read_dim());
  }
}

shape::Dim GraphReader::read_dim() {
  if (!cursor_.ok()) return 0;
  cursor_.skip_spaces();
  // Most sizes are numbers, which need no expression.
  size_t digits = cursor_.rest().find_first_not_of("0123456789");
  if (digits != 0 && digits < cursor_.rest().size() &&
      std::string_view(",]}").find(cursor_.peek(digits)) != std::string_view::npos) {
    return cursor_.integer();
  }
  shape::ExprTable& exprs = graph_.shapes().exprs();
  shape::ParsedExpr parsed = shape::parse_expr(graph_.shapes(), cursor_.rest());
  if (parsed.error.empty() && exprs.is_predicate(parsed.expr))
    parsed.error = "expected a number, not a comparison";
  size_t end = cursor_.at() + parsed.end;
  if (!parsed.error.empty()) return cursor_.fail_at(end, parsed.error), shape::Dim(0);
  cursor_.move_to(end);
  if (exprs.is_constant(parsed.expr)) return exprs[parsed.expr].number;
  return parsed.expr;
}

Device GraphReader::read_device() {
  cursor_.skip_spaces();
  size_t at = cursor_.at();
  auto type = device_type_from_text(cursor_.identifier("a device"));
  if (cursor_.ok() && !type) cursor_.fail_at(at, "unknown device");
  Device device{type.value_or(DeviceType::kCpu), -1};
  if (cursor_.peek() == ':' && cursor_.accept(":")) device.index = static_cast<int8_t>(cursor_.index(128));
  return device;
}

std::string GraphReader::read_comment() {
  if (!cursor_.accept("#")) return {};
  cursor_.skip_spaces();
  if (cursor_.peek() == '"') return cursor_.quoted();
  std::string_view text = cursor_.rest();
  text = text.substr(0, text.find('\n'));
  cursor_.move_to(cursor_.at() + text.size());
  text = text.substr(0, text.find_last_not_of(" \r") + 1);
  return std::string(text);
}

// file:line [in function] {< file:line [in function]}
LineId GraphReader::read_line_comment() {
  if (!cursor_.accept("#")) return LineId::kNone;
  struct Frame {
    std::string file, function;
    int32_t line;
  };
  std::vector<Frame> frames;
  do {
    Frame frame;
    frame.file = read_word("a file name");
    cursor_.expect(":");
    frame.line = static_cast<int32_t>(cursor_.index(INT32_MAX));
    if (cursor_.accept_word("in")) frame.function = read_word("a function name");
    frames.push_back(std::move(frame));
  } while (cursor_.accept("<"));
  LineId line = LineId::kNone;
  if (!cursor_.ok()) return line;
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
    line = graph_.lines().add(frame->file, frame->line, frame->function, line);
  }
  return line;
}

std::string GraphReader::read_word(const char* what) {
  if (!cursor_.ok()) return {};
  cursor_.skip_spaces();
  if (cursor_.peek() == '"') return cursor_.quoted();
  size_t length = 0;
  while (is_bare_word(cursor_.rest().substr(length, 1)) || cursor_.peek(length) == '<') ++length;
  if (length == 0) cursor_.fail(std::string("expected ") + what);
  std::string word(cursor_.rest().substr(0, length));
  cursor_.move_to(cursor_.at() + length);
  return word;
}

}  // namespace stator::ir
