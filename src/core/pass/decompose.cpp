// src/core/pass/decompose.cpp: reads the expressions of decompositions.def and appends their nodes.
#include "core/pass/decompose.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/pass/added_operators.h"
#include "core/pass/copy_operand.h"

namespace stator::pass {

using ir::DType;
using ir::Operand;
using ir::OperandKind;
using ir::ValueId;

namespace {

// -- The tables

enum class Kind : uint8_t { kValue, kTest };

struct Function {
  std::string_view of_tensors, of_number, arguments;
  Kind kind;
};

const Function& function_of(std::string_view name) {
  static const std::unordered_map<std::string_view, Function> functions = {
#define STATOR_FUNCTION(name, of_tensors, of_number, arguments, kind) \
  {name, {of_tensors, of_number, arguments, Kind::kind}},
#include "core/pass/decomposition_functions.def"
  };
  return functions.at(name);
}

struct Expression {
  std::string name;                  // of an argument or a function
  std::optional<double> number;      // then it is neither
  std::vector<Expression> operands;  // of a function
};

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}
  Expression whole() {
    Expression result = expression();
    if (at_ != text_.size()) throw std::logic_error("more than one expression: " + std::string(text_));
    return result;
  }

 private:
  Expression expression() {
    const size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 ||
                                  text_[at_] == '_' || text_[at_] == '.' || text_[at_] == '-'))
      ++at_;
    Expression result;
    result.name = text_.substr(begin, at_ - begin);
    const char first = result.name.empty() ? ' ' : result.name[0];
    if (std::isdigit(static_cast<unsigned char>(first)) != 0 || first == '-' || result.name == "inf") {
      result.number = std::stod(result.name);
      return result;
    }
    if (at_ < text_.size() && text_[at_] == '(') {
      do {
        at_ += text_[at_] == ',' ? 2 : 1;  // a comma and a space
        result.operands.push_back(expression());
      } while (at_ < text_.size() && text_[at_] == ',');
      if (at_ >= text_.size() || text_[at_++] != ')') throw std::logic_error("not closed: " + result.name);
    }
    return result;
  }

  std::string_view text_;
  size_t at_ = 0;
};

const std::unordered_map<std::string_view, Expression>& decompositions() {
  static const std::unordered_map<std::string_view, Expression> table = {
#define STATOR_DECOMPOSITION(name, expression) {name, Reader(expression).whole()},
#include "core/pass/decompositions.def"
  };
  return table;
}

std::vector<std::string> separated(std::string_view names) {
  std::vector<std::string> result(1);
  for (const char letter : names) {
    if (letter == ',') {
      result.emplace_back();
    } else {
      result.back() += letter;
    }
  }
  return result;
}

// -- One operator written out

using Sizes = std::vector<shape::Dim>;
using Strides = std::span<const shape::Dim>;  // of the old graph; empty where nobody asks for them

bool is_float16(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }

// Thrown where an argument is not what the expression takes: the operator stays whole.
struct NotWritten {};

Sizes broadcast(std::span<const shape::Dim> a, std::span<const shape::Dim> b) {
  if (a.size() < b.size()) std::swap(a, b);
  Sizes result(a.begin(), a.end());
  for (size_t i = 0; i < b.size(); ++i) {
    shape::Dim& size = result[a.size() - b.size() + i];
    if (size == shape::Dim(1)) size = b[i];
  }
  return result;
}

class Writer {
 public:
  Writer(const ir::Graph& from, const ir::Node& node, ir::Graph& to,
         const std::function<ValueId(ValueId)>& value)
      : from_(from), node_(node), to_(to), value_(value) {}

  ValueId write(const Expression& expression) {
    const ValueId output = ir::Graph::outputs(node_)[0];
    const ir::Value& result = from_.value(output);
    device_ = result.device;
    const Function& function = function_of(expression.name);
    // Another name of an operator, which reads its operands and rounds by itself.
    is_name_ = function.kind == Kind::kValue &&
               std::ranges::all_of(expression.operands,
                                   [](const Expression& part) { return part.operands.empty(); });
    result_ = result.dtype;
    type_ = result.dtype == DType::kBool            ? type_of_arguments()
            : is_float16(result.dtype) && !is_name_ ? DType::kF32
                                                    : result.dtype;
    check(expression);
    const bool rounds = function.kind == Kind::kValue && type_ != result.dtype;
    const ValueId made = call(expression, rounds ? Strides() : from_.strides(output));
    return rounds ? converted(made, result.dtype, from_.strides(output)) : made;
  }

 private:
  const Operand* argument(std::string_view name) const {
    const auto& names = from_.op_of(node_).arguments;
    const auto found = std::ranges::find(names, name);
    const auto at = static_cast<size_t>(found - names.begin());
    return found == names.end() || at >= node_.operand_count ? nullptr : &from_.operands(node_)[at];
  }

  // Before anything is appended: every argument is there, and is a tensor or a number.
  void check(const Expression& expression) const {
    if (expression.number) return;
    if (expression.operands.empty()) {
      const Operand* found = argument(expression.name);
      if (!found) throw NotWritten();
      const bool plain = found->kind == OperandKind::kInt || found->kind == OperandKind::kDouble ||
                         (found->kind == OperandKind::kValue && from_.value(found->value).is_tensor());
      if (!plain) throw NotWritten();
      if (found->kind == OperandKind::kValue && is_complex(from_.value(found->value).dtype))
        throw NotWritten();
    }
    for (const Expression& part : expression.operands) check(part);
  }

  static bool is_complex(DType dtype) { return dtype == DType::kC64 || dtype == DType::kC128; }

  // Tests compare in the type of their arguments: the operator has one tensor, or they are of one type.
  DType type_of_arguments() const {
    std::optional<DType> found;
    for (const Operand& operand : from_.operands(node_)) {
      if (operand.kind != OperandKind::kValue) continue;
      const DType dtype = from_.value(operand.value).dtype;
      if (found && *found != dtype) throw NotWritten();
      found = dtype;
    }
    if (!found) throw NotWritten();
    return *found;
  }

  Operand operand(const Expression& expression) {
    if (expression.number) {
      const double number = *expression.number;
      const bool whole = number == static_cast<double>(static_cast<int64_t>(std::clamp(number, -1e9, 1e9)));
      return whole ? Operand::of(static_cast<int64_t>(number)) : Operand::of(number);
    }
    if (!expression.operands.empty()) return Operand::of(call(expression, {}));
    Operand copied = copy_operand(from_, *argument(expression.name), to_, value_);
    // Arguments of other types are rounded to the result's before anything is computed.
    if (is_float16(result_) && !is_name_ && copied.kind == OperandKind::kValue &&
        to_.value(copied.value).dtype != DType::kBool)
      copied.value = converted(copied.value, result_);
    return copied;
  }

  ValueId call(const Expression& expression, Strides strides) {
    const Function& function = function_of(expression.name);
    std::vector<Operand> operands;
    for (const Expression& part : expression.operands) operands.push_back(operand(part));
    const bool number = operands.size() > 1 && operands.back().kind != OperandKind::kValue;
    const std::string_view name =
        number || function.of_tensors.empty() ? function.of_number : function.of_tensors;
    Sizes sizes;
    for (Operand& operand : operands) {
      if (operand.kind != OperandKind::kValue) continue;
      // Conditions stay booleans.
      if (!is_name_ && (to_.value(operand.value).dtype != DType::kBool || type_ == DType::kBool))
        operand.value = converted(operand.value, type_);
      sizes = broadcast(sizes, to_.sizes(operand.value));
    }
    const std::vector<std::string> arguments = separated(function.arguments);
    while (operands.size() < arguments.size()) operands.push_back(Operand::of(int64_t{1}));
    return append(pure_operator(to_, name, arguments), operands, sizes, strides,
                  function.kind == Kind::kTest ? DType::kBool : type_);
  }

  ValueId converted(ValueId id, DType dtype, Strides strides = {}) {
    if (to_.value(id).dtype == dtype) return id;
    // An argument that is used twice is converted once.
    const auto known = conversions_.find(index(id));
    if (known != conversions_.end() && strides.empty()) return known->second;
    const Sizes sizes(to_.sizes(id).begin(), to_.sizes(id).end());
    const Operand operands[] = {Operand::of(id), Operand::of(dtype), Operand::of(false), Operand::of(false),
                                Operand::none()};
    const ValueId made = append(conversion_operator(to_), operands, sizes, strides, dtype);
    if (strides.empty()) conversions_.emplace(index(id), made);
    return made;
  }

  ValueId append(ir::OpId op, std::span<const Operand> operands, const Sizes& sizes, Strides strides,
                 DType dtype) {
    const ir::ValueSpec spec{
        .dtype = dtype, .device = device_, .alias = {}, .sizes = sizes, .strides = strides};
    return to_.outputs(to_.append(op, operands, {&spec, 1}, node_.line))[0];
  }

  const ir::Graph& from_;
  const ir::Node& node_;
  ir::Graph& to_;
  const std::function<ValueId(ValueId)>& value_;
  ir::Device device_;
  DType type_ = DType::kF32;  // that is computed in
  DType result_ = DType::kF32;
  bool is_name_ = false;
  std::unordered_map<uint32_t, ValueId> conversions_;  // to it
};

}  // namespace

ir::Graph decompose(const ir::Graph& graph, const std::function<bool(std::string_view)>& keeps) {
  ir::Graph to(graph.shared_operators(), graph.shared_lines(), graph.shared_shapes());
  std::vector<ValueId> now(graph.value_count(), ValueId::kNone);
  const std::function<ValueId(ValueId)> value = [&now](ValueId id) { return now[index(id)]; };
  const auto spec_of = [&graph](ValueId id) {
    const ir::Value& old = graph.value(id);
    return ir::ValueSpec{.kind = old.kind,
                         .dtype = old.dtype,
                         .device = old.device,
                         .layout = old.layout,
                         .flags = old.flags,
                         .alias = {},
                         .sizes = graph.sizes(id),
                         .strides = graph.strides(id),
                         .storage_offset = old.storage_offset};
  };
  for (const ir::Input& input : graph.inputs()) {
    now[index(input.value)] =
        to.add_input(graph.text(input.name), graph.text(input.source), spec_of(input.value));
  }
  for (const ir::Node& node : graph.nodes()) {
    const std::string& name = graph.op_of(node).name;
    const auto found = decompositions().find(name);
    if (found != decompositions().end() && node.output_count == 1 && !keeps(name)) {
      try {
        now[index(node.first_output)] = Writer(graph, node, to, value).write(found->second);
        continue;
      } catch (const NotWritten&) {
      }
    }
    std::vector<Operand> operands;
    for (const Operand& operand : graph.operands(node))
      operands.push_back(copy_operand(graph, operand, to, value));
    std::vector<ir::ValueSpec> specs;
    for (ValueId id : ir::Graph::outputs(node)) specs.push_back(spec_of(id));
    uint32_t i = 0;
    const ir::ValueRange results = to.outputs(to.append(node.op, operands, specs, node.line));
    for (ValueId id : ir::Graph::outputs(node)) now[index(id)] = results[i++];
  }
  std::vector<ValueId> outputs;
  for (ValueId id : graph.outputs()) outputs.push_back(value(id));
  to.set_outputs(outputs);
  return to;
}

}  // namespace stator::pass
