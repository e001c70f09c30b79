// src/backends/native/boxing.cpp: graph operands as boxed arguments.
#include "backends/native/boxing.h"

#include <ATen/ScalarOps.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/scalar_tensor.h>

#include <algorithm>
#include <stdexcept>

namespace stator::native {

namespace {

bool wants_tensor(const c10::Type* type) {
  if (!type) return false;
  if (type->kind() == c10::TypeKind::TensorType) return true;
  if (type->kind() == c10::TypeKind::OptionalType || type->kind() == c10::TypeKind::ListType) {
    return wants_tensor(type->containedTypes()[0].get());
  }
  return false;
}

c10::IValue number(const c10::Scalar& scalar, bool as_tensor) {
  if (!as_tensor) return scalar;
  at::Tensor tensor = c10::scalar_to_tensor(scalar);
  tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
  return tensor;
}

c10::IValue number(const c10::Scalar& scalar, const c10::Type* type) {
  return number(scalar, wants_tensor(type));
}

int64_t evaluate(size_t expression, const shape::Postfix& code, const shape::Bindings& bindings) {
  if (const auto number = code.evaluate(expression, bindings.ints)) return *number;
  throw std::runtime_error("stator: a size divides by zero");  // a guard excludes it
}

c10::IValue constant(const ir::Graph& graph, const ir::Operand& operand, const c10::Type* type) {
  using Kind = ir::OperandKind;
  switch (operand.kind) {
    case Kind::kNone:
      // An argument that is no optional tensor may be undefined even so, in backwards of attention.
      return type && type->kind() == c10::TypeKind::TensorType ? c10::IValue(at::Tensor()) : c10::IValue();
    case Kind::kBool:
      return wants_tensor(type) ? number(operand.boolean, type) : c10::IValue(operand.boolean);
    case Kind::kInt:
      return number(operand.integer, type);
    case Kind::kDouble:
      return number(operand.real, type);
    case Kind::kComplex:
      return number(c10::complex<double>(graph.complex(operand).real(), graph.complex(operand).imag()), type);
    case Kind::kString:
      return graph.string(operand);
    case Kind::kDType:
      return static_cast<int64_t>(operand.dtype);
    case Kind::kLayout:
      return static_cast<int64_t>(operand.layout);
    case Kind::kMemoryFormat:
      return static_cast<int64_t>(operand.memory_format);
    case Kind::kDevice:
      return c10::Device(static_cast<c10::DeviceType>(operand.device.type), operand.device.index);
    case Kind::kIntList: {
      const auto ints = graph.ints(operand);
      return c10::IValue(c10::ArrayRef<int64_t>(ints.data(), ints.size()));
    }
    case Kind::kDoubleList: {
      const auto doubles = graph.doubles(operand);
      return c10::IValue(c10::ArrayRef<double>(doubles.data(), doubles.size()));
    }
    case Kind::kBoolList: {
      c10::List<bool> bits;
      for (int64_t bit : graph.ints(operand)) bits.push_back(bit != 0);
      return bits;
    }
    case Kind::kList: {
      c10::List<c10::Scalar> scalars;
      for (const ir::Operand& element : graph.elements(operand))
        scalars.push_back(constant(graph, element, nullptr).toScalar());
      return c10::impl::toList(scalars);
    }
    case Kind::kOpaque: {
      const auto& object = graph.constant(operand).object;
      if (!object) throw std::runtime_error("a constant of a graph that was read from text");
      return *static_cast<const c10::IValue*>(object.get());
    }
    default:
      throw std::runtime_error("an operand that replay cannot build");
  }
}

// Known only when the graph runs.
bool is_computed(const ir::Operand& element) {
  return element.kind == ir::OperandKind::kValue || element.kind == ir::OperandKind::kSymInt;
}

}  // namespace

ArgumentTemplate make_template(const ir::Graph& graph, const ir::Operand& operand, const c10::Type* type,
                               shape::Postfix& expressions) {
  using Kind = ir::OperandKind;
  ArgumentTemplate result;
  if (operand.kind == Kind::kValue) {
    result.kind = ArgumentTemplate::Kind::value;
    result.value = index(operand.value);
    result.wants_tensor = wants_tensor(type) && graph.value(operand.value).kind == ir::ValueKind::kFloat;
  } else if (operand.kind == Kind::kSymInt) {
    result.kind = ArgumentTemplate::Kind::size;
    result.expressions = {expressions.add(graph.shapes(), operand.expr)};
    result.wants_tensor = wants_tensor(type);
  } else if (operand.kind == Kind::kSymIntList) {
    result.kind = ArgumentTemplate::Kind::sizes;
    for (shape::Dim dim : graph.dims(operand)) {
      result.numbers.push_back(dim.is_expr() ? 0 : dim.number());
      result.expressions.push_back(dim.is_expr() ? expressions.add(graph.shapes(), dim.expr())
                                                 : ArgumentTemplate::kNumber);
    }
  } else if (operand.kind == Kind::kValueList || operand.kind == Kind::kOptionalValueList) {
    result.kind = operand.kind == Kind::kValueList ? ArgumentTemplate::Kind::list
                                                   : ArgumentTemplate::Kind::optional_list;
    for (ir::ValueId value : graph.values(operand)) result.elements.push_back(index(value));
  } else if (operand.kind == Kind::kList && wants_tensor(type)) {
    result.kind = ArgumentTemplate::Kind::list;
    for (const ir::Operand& element : graph.elements(operand)) {
      const bool is_value = element.kind == Kind::kValue;
      result.elements.push_back(is_value ? index(element.value) : UINT32_MAX);
      result.constants.push_back(is_value ? c10::IValue() : constant(graph, element, type));
    }
  } else if (operand.kind == Kind::kList && std::ranges::any_of(graph.elements(operand), is_computed)) {
    result.kind = ArgumentTemplate::Kind::numbers;
    for (const ir::Operand& element : graph.elements(operand)) {
      const bool is_value = element.kind == Kind::kValue;
      const bool is_size = element.kind == Kind::kSymInt;
      result.elements.push_back(is_value ? index(element.value) : UINT32_MAX);
      result.expressions.push_back(is_size ? expressions.add(graph.shapes(), element.expr)
                                           : ArgumentTemplate::kNumber);
      result.constants.push_back(is_value || is_size ? c10::IValue() : constant(graph, element, nullptr));
    }
  } else {
    result.constant = constant(graph, operand, type);
  }
  return result;
}

c10::IValue ArgumentTemplate::fill(const std::vector<c10::IValue>& values, const shape::Postfix& code,
                                   const shape::Bindings& bindings) const {
  switch (kind) {
    case Kind::constant:
      return constant;
    case Kind::value:
      return wants_tensor ? number(values[value].toDouble(), true) : values[value];
    case Kind::size:
      return number(evaluate(expressions[0], code, bindings), wants_tensor);
    case Kind::sizes: {
      c10::SmallVector<int64_t, 6> sizes;
      for (size_t i = 0; i < numbers.size(); ++i) {
        const bool known = expressions[i] == kNumber;
        sizes.push_back(known ? numbers[i] : evaluate(expressions[i], code, bindings));
      }
      return c10::IValue(c10::ArrayRef<int64_t>(sizes));
    }
    case Kind::list: {
      c10::List<at::Tensor> list;
      list.reserve(elements.size());
      for (size_t i = 0; i < elements.size(); ++i) {
        if (elements[i] != UINT32_MAX) {
          list.push_back(values[elements[i]].toTensor());
        } else {
          list.push_back(i < constants.size() && constants[i].isTensor() ? constants[i].toTensor()
                                                                         : at::Tensor());
        }
      }
      return list;
    }
    case Kind::numbers: {
      c10::List<c10::Scalar> scalars;
      scalars.reserve(elements.size());
      for (size_t i = 0; i < elements.size(); ++i) {
        if (elements[i] != UINT32_MAX) {
          scalars.push_back(values[elements[i]].toScalar());
        } else if (expressions[i] != kNumber) {
          scalars.push_back(evaluate(expressions[i], code, bindings));
        } else {
          scalars.push_back(constants[i].toScalar());
        }
      }
      return c10::impl::toList(scalars);
    }
    case Kind::optional_list: {
      c10::List<std::optional<at::Tensor>> list;
      list.reserve(elements.size());
      for (uint32_t element : elements) {
        list.push_back(element == UINT32_MAX ? std::nullopt : std::optional(values[element].toTensor()));
      }
      return list;
    }
  }
  return {};
}

}  // namespace stator::native
