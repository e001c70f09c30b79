// src/torch/inference/meta_run.cpp: meta kernels, called directly or through the dispatcher.
#include "torch/inference/meta_run.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/as_strided.h>
#include <ATen/ops/zeros.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "torch/inference/composite_inference.h"
#include "torch/inference/stand_ins.h"
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

template <class Run>
void run_on_twins(const OperatorInfo& info, std::span<const c10::IValue> arguments, bool gradients, Run&& run,
                  Inference& result) {
  const OwnPython own(Session::current());  // C++ kernels call some that are written in Python
  const c10::impl::ExcludeDispatchKeyGuard no_tracers(kTracerKey);
  const c10::Device device = common_device(arguments);
  StandIns twins;
  torch::jit::Stack stack;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].isDevice()) {
      stack.emplace_back(c10::Device(c10::kMeta));
      continue;
    }
    stack.push_back(
        twins.replace(without_symbols(arguments[i]), i, [&](const at::Tensor& tensor) -> at::Tensor {
          const bool scalar = tensor.dim() == 0 && tensor.device().is_cpu() && !device.is_cpu();
          return scalar ? at::zeros({}, tensor.options()) : make_twin(tensor, gradients);
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

}  // namespace

void run_hidden_meta(const OperatorInfo& info, std::span<const c10::IValue> arguments, Inference& result) {
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  run_on_twins(
      info, arguments, false,
      [&](torch::jit::Stack& stack) {
        info.meta_kernel->callBoxed(info.handle, c10::DispatchKeySet(c10::DispatchKey::Meta), &stack);
      },
      result);
}

void run_dispatched_meta(const OperatorInfo& info, std::span<const c10::IValue> arguments,
                         Inference& result) {
  run_on_twins(
      info, arguments, true, [&](torch::jit::Stack& stack) { info.handle.callBoxed(&stack); }, result);
}

}  // namespace stator
