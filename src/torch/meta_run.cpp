// src/torch/meta_run.cpp: meta kernels, called directly or through the dispatcher.
#include "torch/meta_run.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/as_strided.h>
#include <ATen/ops/zeros.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "torch/capture_break.h"
#include "torch/composite_rerun.h"
#include "torch/session.h"
#include "torch/tensors_in.h"
#include "torch/tracer.h"

namespace stator {

namespace {

struct Twin {
  at::Tensor original;
  at::Tensor twin;
  int16_t argument;
  int32_t element;
};

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

OutputSpec describe(const at::Tensor& tensor, const std::vector<Twin>& twins, c10::Device device) {
  OutputSpec spec;
  if (!tensor.defined()) {
    spec.kind = OutputSpec::Kind::undefined;
    return spec;
  }
  if (tensor.layout() != c10::kStrided)
    raise_break(BreakCode::kTensorLayout, "an operator returns a tensor that is not strided");
  spec.meta = meta_of(tensor);
  if (tensor.device().is_meta()) spec.meta.device = device;
  spec.requires_grad = tensor.requires_grad();
  spec.leaf = tensor.is_leaf();
  for (const Twin& twin : twins) {
    const bool same = twin.twin.is_same(tensor);
    if (same || twin.twin.storage().unsafeGetStorageImpl() == tensor.storage().unsafeGetStorageImpl()) {
      spec.kind = same ? OutputSpec::Kind::same : OutputSpec::Kind::view;
      spec.argument = twin.argument;
      spec.element = twin.element;
      return spec;
    }
  }
  return spec;
}

template <class Run>
void run_on_twins(const OperatorInfo& info, std::span<const c10::IValue> arguments, bool gradients, Run&& run,
                  Inference& result) {
  const c10::impl::ExcludeDispatchKeyGuard no_tracers(kTracerKey);
  const c10::Device device = common_device(arguments);
  std::vector<Twin> twins;
  torch::jit::Stack stack;
  bool has_tensor = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const c10::IValue& argument = arguments[i];
    if (argument.isDevice()) {
      stack.emplace_back(c10::Device(c10::kMeta));
      continue;
    }
    int32_t element = 0;
    stack.push_back(map_tensors(argument, [&](const at::Tensor& tensor) -> at::Tensor {
      const int32_t position = element++;
      has_tensor = true;
      if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) return tensor;
      if (tensor.dim() == 0 && tensor.device().is_cpu() && !device.is_cpu()) {
        return at::zeros({}, tensor.options());
      }
      for (const Twin& known : twins) {
        if (known.original.is_same(tensor)) return known.twin;
      }
      at::Tensor twin = make_twin(tensor, gradients);
      twins.push_back({tensor, twin, static_cast<int16_t>(i), position});
      return twin;
    }));
  }
  if (!has_tensor) {
    for (size_t i = 0; i < arguments.size(); ++i) {
      const auto& argument = info.handle.schema().arguments()[i];
      if (argument.name() == "device" && stack[i].isNone()) stack[i] = c10::Device(c10::kMeta);
    }
  }
  run(stack);
  for (const c10::IValue& value : stack) {
    ReturnSpec spec;
    const size_t before = result.outputs.size();
    if (value.isTensor() || value.isTensorList() || is_optional_tensor_list(value)) {
      for_each_tensor(value,
                      [&](const at::Tensor& t) { result.outputs.push_back(describe(t, twins, device)); });
      spec.kind = value.isTensor() ? ReturnSpec::Kind::tensor : ReturnSpec::Kind::list;
      spec.count = static_cast<uint32_t>(result.outputs.size() - before);
    } else {
      spec.kind = ReturnSpec::Kind::constant;
      spec.count = 0;
      spec.constant = value;
    }
    result.returns.push_back(std::move(spec));
  }
  for (const Twin& twin : twins) {
    if (!(info.written >> twin.argument & 1)) continue;
    OutputSpec spec = describe(twin.twin, twins, twin.original.device());
    bool is_output = false;
    for (const OutputSpec& output : result.outputs) {
      is_output |= output.kind == OutputSpec::Kind::same && output.argument == spec.argument &&
                   output.element == spec.element;
    }
    if (!is_output) result.changed.push_back(std::move(spec));
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
  // Python kernels run under the hook, but are no part of the program.
  struct OwnPython {
    Session* session = Session::current();
    OwnPython() {
      if (session != nullptr) session->own_python++;
    }
    ~OwnPython() {
      if (session != nullptr) session->own_python--;
    }
  } own;
  run_on_twins(
      info, arguments, true, [&](torch::jit::Stack& stack) { info.handle.callBoxed(&stack); }, result);
}

}  // namespace stator
