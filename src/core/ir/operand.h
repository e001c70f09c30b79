// src/core/ir/operand.h: one argument of a node, a value or a constant; lists and texts live in the graph's
// pools.
#pragma once

#include <cstdint>

#include "core/ir/enums.h"
#include "core/shape/dim.h"

namespace stator::ir {

enum class NodeId : uint32_t { kNone = UINT32_MAX };
// A value keeps its id when nodes before it are removed, so ids may have gaps.
enum class ValueId : uint32_t { kNone = UINT32_MAX };

constexpr uint32_t index(NodeId id) { return static_cast<uint32_t>(id); }
constexpr uint32_t index(ValueId id) { return static_cast<uint32_t>(id); }

enum class OperandKind : uint8_t {
  kNone,
  kValue,
  kBool,
  kInt,
  kDouble,
  kComplex,
  kString,
  kDType,
  kLayout,
  kDevice,
  kMemoryFormat,
  kSymInt,  // an expression of the graph's shape::Context
  kIntList,
  kSymIntList,  // Dims, at least one an expression; otherwise it is a kIntList
  kDoubleList,
  kBoolList,
  kValueList,
  kOptionalValueList,  // ValueId::kNone where an element is absent
  kList,               // any other list: of operands
  kOpaque,             // index into the graph's constants table
};

// Sixteen bytes. What is not inline is a range (index, count) of one of the graph's pools and is made by the
// graph (Graph::int_list and so on); read it with the accessors of the same graph.
struct Operand {
  OperandKind kind = OperandKind::kNone;
  Device device;       // kDevice
  uint32_t count = 0;  // elements of a list
  union {
    int64_t integer = 0;         // kInt
    double real;                 // kDouble
    bool boolean;                // kBool
    uint32_t index;              // pools; kOpaque
    ValueId value;               // kValue
    shape::ExprId expr;          // kSymInt
    DType dtype;                 // kDType
    Layout layout;               // kLayout
    MemoryFormat memory_format;  // kMemoryFormat
  };

  static Operand none() { return {}; }
  static Operand of(ValueId v) {
    return make(OperandKind::kValue, [&](Operand& o) { o.value = v; });
  }
  static Operand of(bool b) {
    return make(OperandKind::kBool, [&](Operand& o) { o.boolean = b; });
  }
  static Operand of(int64_t i) {
    return make(OperandKind::kInt, [&](Operand& o) { o.integer = i; });
  }
  static Operand of(double d) {
    return make(OperandKind::kDouble, [&](Operand& o) { o.real = d; });
  }
  static Operand of(DType d) {
    return make(OperandKind::kDType, [&](Operand& o) { o.dtype = d; });
  }
  static Operand of(Layout l) {
    return make(OperandKind::kLayout, [&](Operand& o) { o.layout = l; });
  }
  static Operand of(Device d) {
    return make(OperandKind::kDevice, [&](Operand& o) { o.device = d; });
  }
  static Operand of(MemoryFormat m) {
    return make(OperandKind::kMemoryFormat, [&](Operand& o) { o.memory_format = m; });
  }
  static Operand of(shape::ExprId e) {
    return make(OperandKind::kSymInt, [&](Operand& o) { o.expr = e; });
  }
  static Operand of(shape::Dim d) { return d.is_expr() ? of(d.expr()) : of(d.number()); }
  static Operand of(int i) { return of(static_cast<int64_t>(i)); }
  static Operand of(const void*) = delete;  // a char* would become a bool: texts are Graph::string

 private:
  template <class Set>
  static Operand make(OperandKind kind, Set set) {
    Operand operand;
    operand.kind = kind;
    set(operand);
    return operand;
  }
};

static_assert(sizeof(Operand) == 16);

}  // namespace stator::ir
