// src/core/pass/copy_operand.cpp: what is inline is copied, what lies in a pool is put into the new graph's.
#include "core/pass/copy_operand.h"

#include <algorithm>
#include <memory>
#include <vector>

namespace stator::pass {

using ir::Operand;
using ir::OperandKind;
using ir::ValueId;

Operand copy_operand(const ir::Graph& from, const Operand& operand, ir::Graph& to,
                     const std::function<ValueId(ValueId)>& value) {
  switch (operand.kind) {
    case OperandKind::kValue:
      return Operand::of(value(operand.value));
    case OperandKind::kComplex:
      return to.complex(from.complex(operand));
    case OperandKind::kString:
      return to.string(from.string(operand));
    case OperandKind::kIntList:
      return to.int_list(from.ints(operand));
    case OperandKind::kSymIntList:
      return to.dim_list(from.dims(operand));
    case OperandKind::kDoubleList:
      return to.double_list(from.doubles(operand));
    case OperandKind::kBoolList: {
      const auto bits = from.ints(operand);
      const auto copy = std::make_unique<bool[]>(bits.size());
      std::ranges::copy(bits, copy.get());
      return to.bool_list({copy.get(), bits.size()});
    }
    case OperandKind::kValueList:
    case OperandKind::kOptionalValueList: {
      std::vector<ValueId> values;
      for (ValueId id : from.values(operand)) values.push_back(id == ValueId::kNone ? id : value(id));
      return operand.kind == OperandKind::kValueList ? to.value_list(values) : to.optional_value_list(values);
    }
    case OperandKind::kList: {
      std::vector<Operand> elements;
      for (const Operand& element : from.elements(operand))
        elements.push_back(copy_operand(from, element, to, value));
      return to.list(elements);
    }
    case OperandKind::kOpaque:
      return to.constant(from.constant(operand).object, from.constant(operand).text);
    default:
      return operand;
  }
}

}  // namespace stator::pass
