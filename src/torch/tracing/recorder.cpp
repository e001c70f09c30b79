// src/torch/tracing/recorder.cpp: operands and output values of recorded nodes.
#include "torch/tracing/recorder.h"

#include <ATen/core/Generator.h>

#include "torch/operators/tensors_in.h"
#include "torch/symbols/sym_node.h"
#include "torch/symbols/wrapped_symbol.h"
#include "torch/tracing/capture_break.h"
#include "torch/tracing/tracer.h"

namespace stator {

namespace {

ir::Operand opaque(Session& session, const c10::IValue& value, std::string text) {
  return session.graph.constant(std::make_shared<c10::IValue>(value), std::move(text));
}

ir::Operand number_operand(Session& session, const c10::Scalar& number) {
  if (number.isBoolean()) return ir::Operand::of(number.toBool());
  if (number.isIntegral(false)) return ir::Operand::of(number.toLong());
  if (number.isComplex()) {
    const auto c = number.toComplexDouble();
    return session.graph.complex({c.real(), c.imag()});
  }
  return ir::Operand::of(number.toDouble());
}

// The dtypes a Python number has as a wrapped number; a number at a tensor's place means exactly these.
bool is_plain_number(const at::Tensor& tensor) {
  const auto dtype = tensor.scalar_type();
  return tensor.unsafeGetTensorImpl()->is_wrapped_number() && !as_tracer(tensor) &&
         tensor.device().is_cpu() &&
         (dtype == at::kDouble || dtype == at::kLong || dtype == at::kBool || dtype == at::kComplexDouble);
}

ir::Operand operand_of(Session& session, const SymNumber& number) {
  if (!number.is_real) return ir::Operand::of(number.integer.dim());
  return number.real ? ir::Operand::of(session.value_of(*number.real)) : ir::Operand::of(number.constant);
}

ir::Operand tensor_operand(Session& session, const at::Tensor& tensor) {
  if (!tensor.defined()) return ir::Operand::none();
  if (is_plain_number(tensor)) {
    if (const auto number = wrapped_symbol(tensor)) return operand_of(session, *number);
    const c10::impl::ExcludeDispatchKeyGuard no_tracers(kTracerKey);
    return number_operand(session, tensor.item());
  }
  if (tensor.unsafeGetTensorImpl()->is_wrapped_number() && !as_tracer(tensor)) {
    return opaque(session, tensor, "wrapped number");
  }
  return ir::Operand::of(session.value_of(tensor));
}

ir::Operand tensor_list_operand(Session& session, const c10::IValue& list, bool optional) {
  std::vector<ir::Operand> operands;
  std::vector<ir::ValueId> values;
  bool values_only = true;
  for_each_tensor(list, [&](const at::Tensor& tensor) {
    const ir::Operand operand = tensor_operand(session, tensor);
    const bool is_value = operand.kind == ir::OperandKind::kValue;
    values_only &= is_value || (optional && operand.kind == ir::OperandKind::kNone);
    values.push_back(is_value ? operand.value : ir::ValueId::kNone);
    operands.push_back(operand);
  });
  if (!values_only) return session.graph.list(operands);
  return optional ? session.graph.optional_value_list(values) : session.graph.value_list(values);
}

// A list of ints of which some are symbols; nothing for other lists.
std::optional<std::vector<shape::Dim>> symbolic_ints(const c10::IValue& list) {
  std::vector<shape::Dim> dims;
  for (const c10::IValue& element : list.toListRef()) {
    if (!element.isInt() && !element.isSymInt()) return std::nullopt;
    const Size size = element.isInt() ? Size(element.toInt()) : to_size(element.toSymInt());
    if (size.dim().is_expr() && !size.is_symbolic())
      raise_break(BreakCode::kUnsupportedOperator, "a number that looks like an expression");
    dims.push_back(size.dim());
  }
  if (dims.empty()) return std::nullopt;
  return dims;
}

}  // namespace

ir::Operand operand_of(Session& session, const OperatorInfo& info, size_t position,
                       const c10::IValue& argument) {
  using ir::Operand;
  if (argument.isTensor()) return tensor_operand(session, argument.toTensor());
  if (argument.isNone()) return Operand::none();
  if (argument.isBool()) return Operand::of(argument.toBool());
  if (argument.isInt()) {
    switch (info.enumeration(position)) {
      case Enumeration::dtype:
        return Operand::of(static_cast<ir::DType>(argument.toInt()));
      case Enumeration::layout:
        return Operand::of(static_cast<ir::Layout>(argument.toInt()));
      case Enumeration::memory_format:
        return Operand::of(static_cast<ir::MemoryFormat>(argument.toInt()));
      case Enumeration::no:
        return Operand::of(argument.toInt());
    }
  }
  if (argument.isDouble()) return Operand::of(argument.toDouble());
  if (argument.isDevice()) {
    const c10::Device device = argument.toDevice();
    return Operand::of(ir::Device{static_cast<ir::DeviceType>(device.type()), device.index()});
  }
  if (argument.isString()) return session.graph.string(argument.toStringView());
  if (argument.isTensorList()) return tensor_list_operand(session, argument, false);
  if (is_optional_tensor_list(argument)) return tensor_list_operand(session, argument, true);
  if (argument.isIntList()) return session.graph.int_list(argument.toIntVector());
  if (argument.isDoubleList()) return session.graph.double_list(argument.toDoubleVector());
  if (argument.isBoolList()) {
    const auto list = argument.toBoolList();
    c10::SmallVector<bool, 4> bits(list.begin(), list.end());
    return session.graph.bool_list(std::span<const bool>(bits.data(), bits.size()));
  }
  if (argument.isSymInt() || argument.isSymFloat()) return operand_of(session, *to_number(argument));
  if (argument.isSymBool()) return Operand::of(argument.toSymBool().guard_bool(__FILE__, __LINE__));
  if (argument.isScalar()) return number_operand(session, argument.toScalar());
  if (argument.isList()) {
    if (const auto dims = symbolic_ints(argument)) return session.graph.dim_list(*dims);
    std::vector<Operand> elements;
    for (const c10::IValue& element : argument.toListRef())
      elements.push_back(operand_of(session, info, SIZE_MAX, element));
    return session.graph.list(elements);
  }
  return opaque(session, argument, argument.tagKind());
}

ir::NodeId record(Session& session, const OperatorInfo& info, std::span<const c10::IValue> arguments,
                  const Inference& inference) {
  session.record_modes();
  c10::SmallVector<ir::Operand, 8> operands;
  for (size_t i = 0; i < arguments.size(); ++i)
    operands.push_back(operand_of(session, info, i, arguments[i]));

  const size_t count = inference.outputs.size();
  c10::SmallVector<ir::ValueSpec, 2> specs(count);
  thread_local std::vector<std::vector<shape::Dim>> dims;
  if (dims.size() < count) dims.resize(count);
  for (size_t i = 0; i < count; ++i) {
    const OutputSpec& output = inference.outputs[i];
    if (output.kind == OutputSpec::Kind::undefined) {
      specs[i].kind = ir::ValueKind::kNone;
      continue;
    }
    specs[i] = value_spec(output.meta, output.requires_grad, dims[i]);
    if (output.kind == OutputSpec::Kind::fresh) continue;
    const ir::ValueId base = session.value_of(tensor_at(arguments[output.argument], output.element));
    specs[i].alias = output.kind == OutputSpec::Kind::same ? ir::Alias::same(base) : ir::Alias::view(base);
  }
  return session.graph.append(info.id, operands, specs, session.line());
}

}  // namespace stator
