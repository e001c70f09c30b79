// src/torch/inference/eager_error_probe.cpp: operators that refuse their arguments for what those are,
// whatever they hold.
#include "torch/inference/eager_error_probe.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "core/ir/effects.h"
#include "torch/operators/tensors_in.h"
#include "torch/tracing/tracer.h"

namespace stator {
namespace {

constexpr int64_t kMostElements = 1 << 24;

bool is_symbolic(const c10::IValue& value) {
  if (value.isSymInt() || value.isSymFloat() || value.isSymBool()) return true;
  return value.isList() && !value.isTensorList() && std::ranges::any_of(value.toListRef(), is_symbolic);
}

// Whether nothing but the metadata of its arguments decides what it refuses, and trying leaves no trace.
bool may_be_tried(const OperatorInfo& info, std::span<const c10::IValue> arguments) {
  if (info.kind != OperatorKind::ordinary || info.written != 0 || info.random || info.dynamic_shape ||
      !info.name.starts_with("aten::") || ir::hidden_effect_of(info.name) != 0)
    return false;
  bool plain = true;
  for (const c10::IValue& argument : arguments) {
    plain &= !is_symbolic(argument) && !argument.isGenerator();
    for_each_tensor(argument, [&](const at::Tensor& tensor) {
      if (!tensor.defined()) return;
      plain &=
          !tensor.is_conj() && !tensor.is_neg() && tensor.layout() == c10::kStrided && !tensor.is_quantized();
    });
  }
  return plain;
}

// What the error says is said of these numbers.
void rely_on(Session& session, const at::Tensor& tensor) {
  if (as_tracer(tensor) == nullptr) session.value_of(tensor);
  tensor.sizes();
  tensor.strides();
}

at::Tensor example_of(const at::Tensor& tensor, int contents) {
  int64_t reach = 1;
  for (int64_t i = 0; i < tensor.dim(); i++) {
    if (tensor.size(i) == 0) reach = 0;
    if (reach != 0) reach += (tensor.size(i) - 1) * tensor.stride(i);
  }
  if (reach > kMostElements) return {};
  const at::Tensor memory =
      at::full({reach}, contents, at::TensorOptions(tensor.dtype()).device(tensor.device()));
  at::Tensor example = memory.as_strided(tensor.sizes(), tensor.strides());
  if (tensor.requires_grad()) example.requires_grad_();
  return example;
}

// The error that the operator raises on tensors with these contents.
std::exception_ptr try_on(const OperatorInfo& info, std::span<const c10::IValue> arguments, int contents,
                          std::string& message) {
  torch::jit::Stack stack;
  bool complete = true;
  for (const c10::IValue& argument : arguments) {
    stack.push_back(map_tensors(argument, [&](const at::Tensor& tensor) {
      if (tensor.unsafeGetTensorImpl()->is_wrapped_number() && as_tracer(tensor) == nullptr) return tensor;
      at::Tensor example = example_of(tensor, contents);
      complete &= example.defined();
      return example;
    }));
  }
  if (!complete) return nullptr;
  try {
    info.handle.callBoxed(&stack);
  } catch (const c10::NotImplementedError&) {
    return nullptr;
  } catch (const c10::Error& error) {
    message = error.what_without_backtrace();
    return std::current_exception();
  }
  return nullptr;
}

}  // namespace

void refuse_as_eager(Session& session, const OperatorInfo& info, std::span<const c10::IValue> arguments) {
  if (session.unrecorded != session.following || !may_be_tried(info, arguments)) return;
  for (const c10::IValue& argument : arguments) {
    for_each_tensor(argument, [&](const at::Tensor& tensor) {
      if (tensor.defined() && !tensor.unsafeGetTensorImpl()->is_wrapped_number()) rely_on(session, tensor);
    });
  }
  std::exception_ptr error;
  std::string zeros, ones;
  {
    const c10::impl::ExcludeDispatchKeyGuard no_tracers(kTracerKey);
    error = try_on(info, arguments, 0, zeros);
    if (error && !try_on(info, arguments, 1, ones)) error = nullptr;
  }
  if (error && zeros == ones) throw OperatorRefused{error};
}

}  // namespace stator
