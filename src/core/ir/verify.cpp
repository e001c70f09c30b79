// src/core/ir/verify.cpp: one walk over inputs, nodes and outputs in program order.
#include "core/ir/verify.h"

#include <unordered_set>
#include <vector>

#include "core/ir/text_format.h"
#include "core/shape/context.h"

namespace stator::ir {
namespace {

std::string name(ValueId id) { return "%" + std::to_string(index(id)); }

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph), defined_(graph.value_count(), false) {}

  std::optional<std::string> run() {
    check_symbols();
    check_inputs();
    operator_count_ = graph_.operators().size();
    for (size_t i = 0; i < graph_.nodes().size() && ok(); ++i) check_node(NodeId{static_cast<uint32_t>(i)});
    enter(Part::kReturn, 0);
    for (ValueId output : graph_.outputs()) {
      if (!is_defined(output)) fail("is not defined", output);
    }
    check_gaps();
    return error_;
  }

 private:
  enum class Part : uint8_t { kSymbol, kGuard, kInput, kNode, kReturn, kValues };

  void enter(Part part, size_t at) {
    part_ = part;
    at_ = at;
  }

  bool ok() const { return !error_; }

  // The walk is hot and faults are bugs: texts are made only here.
  void fail(std::string_view message, ValueId id = ValueId::kNone) {
    if (!ok()) return;
    std::string text = place();
    if (!text.empty()) text += ": ";
    if (id != ValueId::kNone) text += name(id) + " ";
    error_ = text + std::string(message);
  }

  std::string place() const {
    switch (part_) {
      case Part::kSymbol:
        return "symbol " + graph_.shapes().symbols()[at_].name;
      case Part::kGuard:
        return "guard " + std::to_string(at_);
      case Part::kInput:
        return "input " + graph_.text(graph_.inputs()[at_].name);
      case Part::kNode: {
        const Node& node = graph_.nodes()[at_];
        bool known = static_cast<uint32_t>(node.op) < graph_.operators().size();
        return "node " + std::to_string(at_) + (known ? " (" + graph_.op_of(node).name + ")" : "");
      }
      case Part::kReturn:
        return "return";
      case Part::kValues:
        break;
    }
    return {};
  }

  bool is_defined(ValueId id) const { return index(id) < defined_.size() && defined_[index(id)]; }

  void check_symbols() {
    const shape::Context& shapes = graph_.shapes();
    std::unordered_set<std::string_view> names;
    for (size_t i = 0; i < shapes.symbols().size(); ++i) {
      enter(Part::kSymbol, i);
      const shape::Symbol& symbol = shapes.symbols()[i];
      if (!is_identifier(symbol.name) || is_reserved(symbol.name)) fail("the name is not allowed");
      if (!names.insert(symbol.name).second) fail("the name is taken twice");
      if (symbol.hint && !symbol.range.contains(*symbol.hint)) fail("the hint is outside of the range");
    }
    for (size_t i = 0; i < shapes.guards().size(); ++i) {
      enter(Part::kGuard, i);
      const shape::SizeGuard& guard = shapes.guards()[i];
      if (!shapes.exprs().contains(guard.predicate)) {
        fail("unknown expression");
      } else if (!shapes.exprs().is_predicate(guard.predicate)) {
        fail("the expression is not a comparison");
      }
      check_line(guard.line);
    }
  }

  void check_inputs() {
    std::unordered_set<StringId> names;
    for (size_t i = 0; i < graph_.inputs().size(); ++i) {
      enter(Part::kInput, i);
      const Input& input = graph_.inputs()[i];
      if (!is_identifier(graph_.text(input.name))) fail("the name is not an identifier");
      if (!names.insert(input.name).second) fail("the name is taken twice");
      if (!define(input.value, NodeId::kNone)) return;
      const Value& value = graph_.value(input.value);
      if (value.alias == AliasKind::kSame || value.alias == AliasKind::kView) {
        fail("an input is not the result of a node");
      }
      if (value.alias == AliasKind::kShares) check_base(value);
      check_storage(input.value);
    }
  }

  void check_node(NodeId id) {
    enter(Part::kNode, index(id));
    const Node& node = graph_.node(id);
    if (static_cast<uint32_t>(node.op) >= operator_count_) return fail("unknown operator");
    if (!is_operator_name(graph_.op_of(node).name)) fail("the operator's name is not allowed");
    for (const Operand& operand : graph_.operands(node)) check_operand(operand);
    check_line(node.line);
    if (!ok()) return;
    for (ValueId output : Graph::outputs(node)) {
      if (!define(output, id)) return;
      const Value& value = graph_.value(output);
      if (value.alias == AliasKind::kShares) fail("shares memory as only inputs do", output);
      if (value.alias == AliasKind::kSame || value.alias == AliasKind::kView) {
        if (!uses(node, value.base))
          fail("aliases " + name(value.base) + ", which the node does not use", output);
        check_base(value);
      }
      check_storage(output);
    }
  }

  bool uses(const Node& node, ValueId id) const {
    bool found = false;
    graph_.for_each_use(node, [&](ValueId used) { found = found || used == id; });
    return found;
  }

  bool define(ValueId id, NodeId node) {
    if (index(id) >= graph_.value_count()) return fail("is out of bounds", id), false;
    const Value& value = graph_.value(id);
    if (defined_[index(id)]) fail("is defined twice", id);
    if (value.kind == ValueKind::kUndefined) fail("has no type", id);
    if (value.node != node) fail("names another node as its origin", id);
    check_type(id, value);
    defined_[index(id)] = true;
    return ok();
  }

  void check_type(ValueId id, const Value& value) {
    if (text(value.dtype).empty() || text(value.device.type).empty() || text(value.layout).empty()) {
      fail("has an unknown dtype, device or layout", id);
    }
    for (shape::Dim size : graph_.sizes(value)) check_dim(size, "has a negative size", id);
    for (shape::Dim stride : graph_.strides(value)) check_dim(stride, "has a negative stride", id);
    check_dim(value.storage_offset, "has a negative offset", id);
    if (!value.is_tensor() && value.rank != 0) fail("has sizes but is no tensor", id);
  }

  void check_dim(shape::Dim dim, const char* if_negative, ValueId id) {
    if (dim.is_expr()) {
      check_expr(dim.expr());
    } else if (dim.number() < 0) {
      fail(if_negative, id);
    }
  }

  void check_expr(shape::ExprId expr) {
    const shape::ExprTable& exprs = graph_.shapes().exprs();
    if (!exprs.contains(expr)) {
      fail("unknown size expression");
    } else if (exprs.is_predicate(expr)) {
      fail("a comparison stands where a number is meant");
    }
  }

  void check_line(LineId line) {
    if (!graph_.lines().contains(line)) fail("unknown user line");
  }

  void check_base(const Value& value) {
    if (!is_defined(value.base)) return fail("is aliased but not defined", value.base);
    if (!value.is_tensor() || !graph_.value(value.base).is_tensor()) fail("only tensors alias");
  }

  void check_storage(ValueId id) {
    const Value& value = graph_.value(id);
    if (!ok()) return;
    ValueId expected = value.alias == AliasKind::kFresh ? id : graph_.value(value.base).storage;
    if (value.storage != expected) fail("is not in the alias set of what it aliases", id);
  }

  void check_operand(const Operand& operand) {
    graph_.for_each_value(operand, [&](ValueId id) {
      if (!is_defined(id)) fail("is not defined before it is used", id);
    });
    switch (operand.kind) {
      case OperandKind::kOpaque:
        if (operand.index >= graph_.constants().size()) fail("unknown constant");
        break;
      case OperandKind::kSymInt:
        check_expr(operand.expr);
        break;
      case OperandKind::kSymIntList:
        for (shape::Dim dim : graph_.dims(operand)) {
          if (dim.is_expr()) check_expr(dim.expr());
        }
        break;
      case OperandKind::kValueList:
        for (ValueId id : graph_.values(operand)) {
          if (id == ValueId::kNone) fail("an element is absent in a list whose elements are not optional");
        }
        break;
      case OperandKind::kList:
        for (const Operand& element : graph_.elements(operand)) check_operand(element);
        break;
      default:
        break;
    }
  }

  // An id that nothing defines must be empty, or a stale value would look alive.
  void check_gaps() {
    enter(Part::kValues, 0);
    for (size_t i = 0; i < graph_.value_count() && ok(); ++i) {
      ValueId id{static_cast<uint32_t>(i)};
      if (!defined_[i] && graph_.value(id).kind != ValueKind::kUndefined) fail("has no definition", id);
    }
  }

  const Graph& graph_;
  std::vector<bool> defined_;
  size_t operator_count_ = 0;
  Part part_ = Part::kValues;
  size_t at_ = 0;  // which symbol, input or node of the part
  std::optional<std::string> error_;
};

}  // namespace

std::optional<std::string> verify(const Graph& graph) { return Verifier(graph).run(); }

}  // namespace stator::ir
