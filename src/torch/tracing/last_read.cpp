// src/torch/tracing/last_read.cpp: records operators whose result depends on values.
#include "torch/tracing/last_read.h"

#include <ATen/PythonTorchFunctionTLS.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/autograd/python_variable.h>

#include "torch/guards/tensor_guard.h"
#include "torch/operators/value_errors.h"
#include "torch/symbols/sym_node.h"
#include "torch/symbols/sym_python.h"
#include "torch/tracing/recorder.h"
#include "torch/tracing/tracer.h"

namespace stator {
namespace {

bool has_one_number(const at::Tensor& tensor) {
  return tensor.numel() == 1 && !at::isComplexType(tensor.scalar_type()) && !is_wrapper(tensor);
}

ir::ValueKind kind_of_number(at::ScalarType type) {
  if (type == at::kBool) return ir::ValueKind::kBool;
  return at::isFloatingType(type) ? ir::ValueKind::kFloat : ir::ValueKind::kInt;
}

ir::NodeId append(Session& session, const OperatorInfo& info, std::span<const c10::IValue> arguments,
                  std::span<const ir::ValueSpec> specs) {
  if (may_refuse_values(info, arguments)) session.before_refusal(info.name);
  session.record_modes();
  std::vector<ir::Operand> operands;
  for (size_t i = 0; i < arguments.size(); i++)
    operands.push_back(operand_of(session, info, i, arguments[i]));
  session.has_last_read = true;
  return session.graph.append(info.id, operands, specs, session.line());
}

SymNumber append_number(Session& session, const OperatorInfo& info, const at::Tensor& tensor,
                        ir::ValueKind kind) {
  ir::ValueSpec spec;
  spec.kind = kind;
  const c10::IValue argument(tensor);
  const ir::NodeId node = append(session, info, {&argument, 1}, {&spec, 1});
  return session.number_of(session.graph.outputs(node)[0]);
}

bool gives_tensors(const OperatorInfo& info) {
  const auto& returns = info.handle.schema().returns();
  return info.dynamic_shape && info.written == 0 && !returns.empty() &&
         std::ranges::all_of(returns, [](const c10::Argument& result) {
           return result.type()->kind() == c10::TypeKind::TensorType;
         });
}

}  // namespace

bool record_last_read(Session& session, const OperatorInfo& info, torch::jit::Stack* stack) {
  if (session.has_last_read || session.unrecorded != 0 || session.following != 0) return false;
  const size_t first = stack->size() - info.arguments;
  const std::span<const c10::IValue> arguments(stack->data() + first, info.arguments);
  if (info.reads_number) {
    const at::Tensor tensor = arguments[0].toTensor();
    if (!has_one_number(tensor)) return false;
    const SymNumber number = append_number(session, info, tensor, kind_of_number(tensor.scalar_type()));
    stack->back() = to_sym_float(number);
    return true;
  }
  if (!gives_tensors(info)) return false;
  ir::ValueSpec unknown;
  unknown.kind = ir::ValueKind::kOpaque;
  const std::vector<ir::ValueSpec> specs(info.handle.schema().returns().size(), unknown);
  const ir::NodeId node = append(session, info, arguments, specs);
  const uint32_t value = index(session.graph.node(node).first_output);
  torch::jit::drop(*stack, info.arguments);
  for (uint32_t i = 0; i < specs.size(); i++)
    stack->emplace_back(make_unsized_tracer({session.id(), new_memory(), value + i}));
  return true;
}

Ref<> record_last_read(Session& session, PyObject* object, DomainCapture::LastRead what) {
  static const auto item_handle = c10::Dispatcher::singleton().findSchemaOrThrow("aten::item", "");
  static const auto truth_handle = c10::Dispatcher::singleton().findSchemaOrThrow("aten::is_nonzero", "");
  static const OperatorInfo& item = operator_info(item_handle);
  static const OperatorInfo& truth = operator_info(truth_handle);
  if (session.has_last_read || session.unrecorded != 0 || session.following != 0) return {};
  if (!is_plain_tensor_type(Py_TYPE(object)) || at::impl::torch_function_mode_enabled()) return {};
  const at::Tensor& tensor = THPVariable_Unpack(object);
  if (tensor.layout() != c10::kStrided || !has_one_number(tensor)) return {};
  const bool asks_truth = what == DomainCapture::LastRead::truth;
  const ir::ValueKind kind = asks_truth ? ir::ValueKind::kBool : kind_of_number(tensor.scalar_type());
  return to_python(append_number(session, asks_truth ? truth : item, tensor, kind));
}

}  // namespace stator
