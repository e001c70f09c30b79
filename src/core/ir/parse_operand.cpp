// src/core/ir/parse_operand.cpp: reading the arguments of nodes.
#include <algorithm>

#include "core/ir/graph_reader.h"
#include "core/ir/text_format.h"
#include "core/shape/context.h"
#include "core/shape/text.h"

namespace stator::ir {

Operand GraphReader::read_operand() {
  if (!cursor_.ok()) return {};
  cursor_.skip_spaces();
  switch (cursor_.peek()) {
    case '%':
      return Operand::of(read_value_use());
    case '"':
      return graph_.string(cursor_.quoted());
    case '[':
      return read_list();
    case '?':
      return read_optional_values();
    case '@': {
      cursor_.expect("@");
      Operand operand;
      operand.kind = OperandKind::kOpaque;
      operand.index = cursor_.index(static_cast<uint32_t>(graph_.constants().size()));
      return operand;
    }
    default:
      break;
  }
  return is_identifier(cursor_.rest().substr(0, 1)) ? read_named_operand() : read_number();
}

// An integer, a float, or an expression that begins with a digit, a sign or a parenthesis.
Operand GraphReader::read_number() {
  std::string_view rest = cursor_.rest();
  size_t length = std::min(rest.find_first_of(",)]\n#"), rest.size());
  std::string_view word = rest.substr(0, length);
  word = word.substr(0, word.find_last_not_of(" \r") + 1);
  size_t digits = word.find_first_not_of('-');
  bool plain = word.find_first_not_of("0123456789", digits) == std::string_view::npos && digits <= 1;
  if (plain && !word.empty() && digits < word.size()) return Operand::of(cursor_.integer());
  bool starts_as_number = digits < word.size() && word.find_first_of("0123456789in", digits) == digits;
  bool real = starts_as_number &&
              word.find_first_not_of("0123456789.e+-infa", digits) == std::string_view::npos &&
              word.find_first_of(".ein") != std::string_view::npos;
  if (real && digits <= 1) return Operand::of(cursor_.number());
  return Operand::of(read_dim());
}

template <class Enum>
Operand GraphReader::read_enum(std::optional<Enum> (*from_text)(std::string_view), const char* what) {
  size_t at = cursor_.at();
  std::optional<Enum> code = from_text(cursor_.identifier(what));
  if (cursor_.ok() && !code) cursor_.fail_at(at, std::string("expected ") + what);
  cursor_.expect(")");
  return Operand::of(code.value_or(Enum{}));
}

Operand GraphReader::read_named_operand() {
  if (cursor_.accept_word("none")) return Operand::none();
  if (cursor_.accept_word("true")) return Operand::of(true);
  if (cursor_.accept_word("false")) return Operand::of(false);
  if (cursor_.accept_word("inf") || cursor_.accept_word("nan")) {
    cursor_.move_to(cursor_.at() - 3);
    return Operand::of(cursor_.number());
  }
  if (cursor_.accept("dtype(")) return read_enum(dtype_from_text, "an element type");
  if (cursor_.accept("layout(")) return read_enum(layout_from_text, "a layout");
  if (cursor_.accept("memory_format(")) return read_enum(memory_format_from_text, "a memory format");
  if (cursor_.accept("device(")) {
    Device device = read_device();
    cursor_.expect(")");
    return Operand::of(device);
  }
  if (cursor_.accept("complex(")) {
    double real = cursor_.number();
    cursor_.expect(",");
    double imaginary = cursor_.number();
    cursor_.expect(")");
    return graph_.complex({real, imaginary});
  }
  if (cursor_.accept("int[]")) return graph_.int_list({});
  if (cursor_.accept("float[]")) return graph_.double_list({});
  if (cursor_.accept("bool[]")) return graph_.bool_list({});
  if (cursor_.accept("value[]")) return graph_.value_list({});
  if (cursor_.accept("list(")) {
    if (++depth_ > kMaxDepth) return cursor_.fail("lists are nested too deeply"), Operand();
    std::vector<Operand> elements;
    while (cursor_.ok() && !cursor_.accept(")")) {
      if (!elements.empty()) cursor_.expect(",");
      elements.push_back(read_operand());
    }
    --depth_;
    return graph_.list(elements);
  }
  return Operand::of(read_dim());
}

Operand GraphReader::read_optional_values() {
  std::vector<ValueId> values;
  cursor_.expect("?");
  cursor_.expect("[");
  while (cursor_.ok() && !cursor_.accept("]")) {
    if (!values.empty()) cursor_.expect(",");
    values.push_back(cursor_.accept_word("none") ? ValueId::kNone : read_value_use());
  }
  return graph_.optional_value_list(values);
}

// A list of one kind; the first element says which.
Operand GraphReader::read_list() {
  size_t at = cursor_.at();
  cursor_.expect("[");
  std::vector<Operand> elements;
  while (cursor_.ok() && !cursor_.accept("]")) {
    if (!elements.empty()) cursor_.expect(",");
    cursor_.skip_spaces();
    if (cursor_.peek() == '[') cursor_.fail("lists of lists are written list(…)");
    elements.push_back(read_operand());
  }
  if (!cursor_.ok()) return {};
  if (elements.empty()) return cursor_.fail_at(at, "an empty list needs its type, as in int[]"), Operand();

  auto all = [&](OperandKind kind) {
    return std::ranges::all_of(elements, [kind](const Operand& o) { return o.kind == kind; });
  };
  auto collect = [&](auto member) {
    std::vector<std::remove_reference_t<decltype(elements[0].*member)>> result;
    for (const Operand& element : elements) result.push_back(element.*member);
    return result;
  };
  if (all(OperandKind::kInt)) return graph_.int_list(collect(&Operand::integer));
  if (all(OperandKind::kDouble)) return graph_.double_list(collect(&Operand::real));
  if (all(OperandKind::kValue)) return graph_.value_list(collect(&Operand::value));
  if (all(OperandKind::kBool)) {
    auto bits = std::make_unique<bool[]>(elements.size());
    for (size_t i = 0; i < elements.size(); ++i) bits[i] = elements[i].boolean;
    return graph_.bool_list({bits.get(), elements.size()});
  }
  std::vector<shape::Dim> dims;
  for (const Operand& element : elements) {
    if (element.kind != OperandKind::kInt && element.kind != OperandKind::kSymInt) {
      return cursor_.fail_at(at, "the elements of a list are of one kind"), Operand();
    }
    dims.push_back(element.kind == OperandKind::kInt ? shape::Dim(element.integer)
                                                     : shape::Dim(element.expr));
  }
  return graph_.dim_list(dims);
}

}  // namespace stator::ir
