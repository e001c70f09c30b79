// src/torch/inference/meta_run.cpp: meta kernels, called directly or through the dispatcher.
#include "torch/inference/meta_run.h"

#include <ATen/EmptyTensor.h>
#include <ATen/ExpandUtils.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/as_strided.h>
#include <ATen/ops/zeros.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>

#include "torch/inference/composite_inference.h"
#include "torch/inference/rules/pointwise.h"
#include "torch/inference/substituted_arguments.h"
#include "torch/symbols/sym_node.h"
#include "torch/tracing/own_python.h"
#include "torch/tracing/session.h"
#include "torch/tracing/tracer.h"

namespace stator {

c10::IValue without_symbols(const c10::IValue& argument) {
  if (const auto number = argument.isSymInt() || argument.isSymFloat() ? to_number(argument) : std::nullopt)
    return number->is_real ? c10::IValue(number->specialize()) : c10::IValue(number->integer.specialize());
  if (!argument.isSymIntList()) return argument;
  c10::List<int64_t> numbers;
  for (const c10::IValue& element : argument.toListRef())
    numbers.push_back(element.isInt() ? element.toInt() : to_size(element.toSymInt()).specialize());
  return numbers;
}

namespace {

at::Tensor make_twin(const at::Tensor& tensor, bool gradients) {
  at::Tensor twin(at::detail::empty_strided_meta(tensor.sizes(), tensor.strides(), tensor.scalar_type()));
  if (tensor.storage_offset() != 0) twin.unsafeGetTensorImpl()->set_storage_offset(tensor.storage_offset());
  if (tensor.is_conj()) twin._set_conj(true);
  if (tensor.is_neg()) twin._set_neg(true);
  if (gradients && tensor.requires_grad()) {
    twin.requires_grad_(true);
    // A leaf may not be written in place; a tensor with a history may.
    if (!tensor.is_leaf()) {
      const c10::AutoGradMode enabled(true);
      const bool conj = twin.is_conj(), neg = twin.is_neg();
      twin = at::as_strided(twin, tensor.sizes(), tensor.strides(), tensor.storage_offset())
                 .detach()
                 .requires_grad_(true);
      twin = twin.mul(1);
      twin.unsafeGetTensorImpl()->set_sizes_and_strides(tensor.sizes(), tensor.strides(),
                                                        tensor.storage_offset());
      if (conj) twin._set_conj(true);
      if (neg) twin._set_neg(true);
    }
  }
  return twin;
}

// The type that TensorIterator converts these operands to.
c10::ScalarType computing_dtype(std::span<const c10::IValue> arguments, const Inference& result) {
  Promotion promotion;
  for (const c10::IValue& argument : arguments) {
    if (argument.isTensor() && argument.toTensor().defined()) promotion.add(meta_of(argument.toTensor()));
  }
  const c10::ScalarType own = promotion.result();
  if (result.outputs.size() != 1 || !is_integral(own)) return own;
  const c10::ScalarType made = result.outputs[0].meta.dtype;
  return c10::isFloatingType(made) ? made : own;
}

// On the CPU it does so in dense copies, before it looks at strides; for `meta` tensors it does not.
bool is_copied(const at::Tensor& operand, c10::ScalarType computed) {
  return operand.defined() && operand.scalar_type() != computed && !operand.is_non_overlapping_and_dense();
}

template <class Run>
void run_on_twins(const OperatorInfo& info, std::span<const c10::IValue> arguments, bool gradients, Run&& run,
                  Inference& result, c10::ScalarType computed = c10::ScalarType::Undefined) {
  const OwnPython own(Session::current());  // C++ kernels call some that are written in Python
  const c10::impl::ExcludeDispatchKeyGuard no_tracers(kTracerKey);
  const c10::Device device = common_device(arguments);
  const bool copies = computed != c10::ScalarType::Undefined;
  SubstitutedArguments twins;
  torch::jit::Stack stack;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].isDevice()) {
      stack.emplace_back(c10::Device(c10::kMeta));
      continue;
    }
    stack.push_back(
        twins.replace(without_symbols(arguments[i]), i, [&](const at::Tensor& tensor) -> at::Tensor {
          const bool scalar = tensor.dim() == 0 && tensor.device().is_cpu() && !device.is_cpu();
          if (scalar) return at::zeros({}, tensor.options());
          at::Tensor twin = make_twin(tensor, gradients);
          if (copies && is_copied(tensor, computed)) {
            const std::vector<int64_t> strides = at::infer_dense_strides(tensor.sizes(), tensor.strides());
            twin.unsafeGetTensorImpl()->set_sizes_and_strides(tensor.sizes(), strides);
          }
          return twin;
        }));
  }
  if (twins.empty()) {
    for (size_t i = 0; i < arguments.size(); ++i) {
      const auto& argument = info.handle.schema().arguments()[i];
      if (argument.name() == "device" && stack[i].isNone()) stack[i] = c10::Device(c10::kMeta);
    }
  }
  run(stack);
  const auto shares = [](const at::Tensor& result, const at::Tensor& twin) {
    return result.storage().unsafeGetStorageImpl() == twin.storage().unsafeGetStorageImpl();
  };
  twins.describe(info, stack, shares, result);
  for (OutputSpec& output : result.outputs) {
    if (output.meta.device.is_meta()) output.meta.device = device;
  }
}

// What the kernel for the CPU returns, where its strides are others than those of the kernel for `meta`.
template <class Run>
void run_as_on_cpu(const OperatorInfo& info, std::span<const c10::IValue> arguments, bool gradients,
                   Run&& run, Inference& result) {
  run_on_twins(info, arguments, gradients, run, result);
  if (!info.handle.hasTag(at::Tag::pointwise) || info.handle.schema().is_mutable() ||
      !common_device(arguments).is_cpu())
    return;
  const c10::ScalarType computed = computing_dtype(arguments, result);
  const bool copies = std::ranges::any_of(arguments, [&](const c10::IValue& argument) {
    return argument.isTensor() && is_copied(argument.toTensor(), computed);
  });
  if (!copies) return;
  result = {};
  run_on_twins(info, arguments, gradients, run, result, computed);
}

}  // namespace

void run_hidden_meta(const OperatorInfo& info, std::span<const c10::IValue> arguments, Inference& result) {
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  run_as_on_cpu(
      info, arguments, false,
      [&](torch::jit::Stack& stack) {
        info.meta_kernel->callBoxed(info.handle, c10::DispatchKeySet(c10::DispatchKey::Meta), &stack);
      },
      result);
}

void run_dispatched_meta(const OperatorInfo& info, std::span<const c10::IValue> arguments,
                         Inference& result) {
  run_as_on_cpu(
      info, arguments, true, [&](torch::jit::Stack& stack) { info.handle.callBoxed(&stack); }, result);
}

}  // namespace stator
