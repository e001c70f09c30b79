// src/core/ir/print_operand.cpp: calls and their arguments as text.
#include <charconv>
#include <cmath>

#include "core/ir/graph_writer.h"
#include "core/quoted_text.h"
#include "core/shape/text.h"

namespace stator::ir {

void GraphWriter::print_call(const Node& node) {
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

void GraphWriter::print_operand(const Operand& o) {
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

void GraphWriter::print_value(ValueId id) {
  out_ += id == ValueId::kNone ? "none" : "%" + std::to_string(index(id));
}

void GraphWriter::print_dim(shape::Dim dim) {
  if (dim.is_expr()) {
    shape::append_text(graph_.shapes(), dim.expr(), &out_);
  } else {
    out_ += std::to_string(dim.number());
  }
}

void GraphWriter::print_device(Device device) {
  out_ += text(device.type);
  if (device.index >= 0) out_ += ':' + std::to_string(device.index);
}

void GraphWriter::print_double(double number) {
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

}  // namespace stator::ir
