// src/core/ir/verify.cpp: one walk over inputs, nodes and outputs in program order.
#include "core/ir/verify.h"

#include <unordered_set>
#include <vector>

#include "core/ir/print.h"
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
    for (size_t i = 0; i < graph_.nodes().size() && ok(); ++i) check_node(NodeId{static_cast<uint32_t>(i)});
    place_ = "return";
    for (ValueId output : graph_.outputs()) {
      if (!is_defined(output)) fail(name(output) + " is not defined");
    }
    check_gaps();
    return error_;
  }

 private:
  bool ok() const { return !error_; }
  void fail(const std::string& message) {
    if (ok()) error_ = place_.empty() ? message : place_ + ": " + message;
  }

  bool is_defined(ValueId id) const { return index(id) < defined_.size() && defined_[index(id)]; }

  void check_symbols() {
    const shape::Context& shapes = graph_.shapes();
    std::unordered_set<std::string_view> names;
    for (const shape::Symbol& symbol : shapes.symbols()) {
      place_ = "symbol " + symbol.name;
      if (!is_identifier(symbol.name) || is_reserved(symbol.name)) fail("the name is not allowed");
      if (!names.insert(symbol.name).second) fail("the name is taken twice");
      if (symbol.hint && !symbol.range.contains(*symbol.hint)) fail("the hint is outside of the range");
    }
    place_ = "guard";
    for (const shape::SizeGuard& guard : shapes.guards()) {
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
    for (const Input& input : graph_.inputs()) {
      const std::string& text = graph_.text(input.name);
      place_ = "input " + text;
      if (!is_identifier(text)) fail("the name is not an identifier");
      if (!names.insert(input.name).second) fail("the name is taken twice");
      if (!define(input.value, NodeId::kNone)) return;
      const Value& value = graph_.value(input.value);
      if (value.alias != AliasKind::kFresh && value.alias != AliasKind::kShares)
        fail("an input is not the result of a node");
      if (value.alias == AliasKind::kShares) check_base(value);
      check_storage(input.value);
    }
  }

  void check_node(NodeId id) {
    const Node& node = graph_.node(id);
    place_ = "node " + std::to_string(index(id));
    if (static_cast<uint32_t>(node.op) >= graph_.operators().size()) return fail("unknown operator");
    place_ += " (" + graph_.op_of(node).name + ")";
    if (!is_operator_name(graph_.op_of(node).name)) fail("the operator's name is not allowed");
    for (const Operand& operand : graph_.operands(node)) check_operand(operand);
    check_line(node.line);
    if (!ok()) return;
    used_.clear();
    graph_.for_each_use(node, [&](ValueId used) { used_.insert(used); });
    for (ValueId output : Graph::outputs(node)) {
      if (!define(output, id)) return;
      const Value& value = graph_.value(output);
      if (value.alias == AliasKind::kShares) fail(name(output) + " shares memory as only inputs do");
      if (value.alias == AliasKind::kSame || value.alias == AliasKind::kView) {
        if (!used_.contains(value.base))
          fail(name(output) + " aliases " + name(value.base) + ", which the node does not use");
        check_base(value);
      }
      check_storage(output);
    }
  }

  bool define(ValueId id, NodeId node) {
    if (index(id) >= graph_.value_count()) return fail(name(id) + " is out of bounds"), false;
    const Value& value = graph_.value(id);
    if (defined_[index(id)]) fail(name(id) + " is defined twice");
    if (value.kind == ValueKind::kUndefined) fail(name(id) + " has no type");
    if (value.node != node) fail(name(id) + " names another node as its origin");
    check_type(id);
    defined_[index(id)] = true;
    return ok();
  }

  void check_type(ValueId id) {
    const Value& value = graph_.value(id);
    if (text(value.dtype).empty() || text(value.device.type).empty() || text(value.layout).empty()) {
      fail(name(id) + " has an unknown dtype, device or layout");
    }
    for (shape::Dim size : graph_.sizes(value)) check_dim(size, name(id) + " has a negative size");
    for (shape::Dim stride : graph_.strides(value)) check_dim(stride, name(id) + " has a negative stride");
    check_dim(value.storage_offset, name(id) + " has a negative offset");
    if (!value.is_tensor() && value.rank != 0) fail(name(id) + " has sizes but is no tensor");
  }

  void check_dim(shape::Dim dim, const std::string& if_negative) {
    if (dim.is_expr()) {
      check_expr(dim.expr());
    } else if (dim.number() < 0) {
      fail(if_negative);
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
    if (!is_defined(value.base)) return fail("the aliased value " + name(value.base) + " is not defined");
    if (!value.is_tensor() || !graph_.value(value.base).is_tensor()) fail("only tensors alias");
  }

  void check_storage(ValueId id) {
    const Value& value = graph_.value(id);
    if (!ok()) return;
    ValueId expected = value.alias == AliasKind::kFresh ? id : graph_.value(value.base).storage;
    if (value.storage != expected) fail(name(id) + " is not in the alias set of what it aliases");
  }

  void check_operand(const Operand& operand) {
    graph_.for_each_value(operand, [&](ValueId id) {
      if (!is_defined(id)) fail(name(id) + " is not defined before it is used");
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
    place_.clear();
    for (size_t i = 0; i < graph_.value_count() && ok(); ++i) {
      ValueId id{static_cast<uint32_t>(i)};
      if (!defined_[i] && graph_.value(id).kind != ValueKind::kUndefined)
        fail(name(id) + " has no definition");
    }
  }

  const Graph& graph_;
  std::vector<bool> defined_;
  std::unordered_set<ValueId> used_;
  std::string place_;
  std::optional<std::string> error_;
};

}  // namespace

std::optional<std::string> verify(const Graph& graph) { return Verifier(graph).run(); }

}  // namespace stator::ir
