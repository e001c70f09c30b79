// src/torch/inference/composite_inference.cpp: composite kernels on tracers, unrecorded.
#include "torch/inference/composite_inference.h"

#include <ATen/autocast_mode.h>

#include "torch/inference/substituted_arguments.h"
#include "torch/operators/tensors_in.h"
#include "torch/tracing/own_python.h"
#include "torch/tracing/tracer.h"

namespace stator {

namespace {

struct Unrecorded {
  // `own_kernel`: where it is written in Python, that code is torch's and no part of the program.
  Unrecorded(Session& session, bool own_kernel)
      : session(session),
        own(own_kernel ? &session : nullptr),
        cache(at::autocast::is_autocast_cache_enabled()) {
    ++session.unrecorded;
    at::autocast::set_autocast_cache_enabled(false);  // the cache must never hold tracers
  }
  ~Unrecorded() {
    --session.unrecorded;
    at::autocast::set_autocast_cache_enabled(cache);
  }
  Session& session;
  OwnPython own;
  bool cache;
};

}  // namespace

void rerun_composite(Session& session, const OperatorInfo& info, c10::DispatchKeySet keys,
                     std::span<const c10::IValue> arguments, Inference& result) {
  SubstitutedArguments copies;
  torch::jit::Stack stack;
  for (size_t i = 0; i < arguments.size(); ++i) {
    stack.push_back(copies.replace(arguments[i], i, [&](const at::Tensor& tensor) {
      return make_tracer(meta_of(tensor), {session.id(), new_memory()}, tensor.requires_grad(),
                         tensor.is_leaf());
    }));
  }
  {
    const Unrecorded unrecorded(session, info.name.starts_with("aten::"));
    info.handle.redispatchBoxed(keys, &stack);
  }
  const auto shares = [](const at::Tensor& result, const at::Tensor& copy) {
    const Tracer* tracer = as_tracer(result);
    return tracer && tracer->identity().memory == as_tracer(copy)->identity().memory;
  };
  copies.describe(info, stack, shares, result);
}

c10::Device common_device(std::span<const c10::IValue> arguments) {
  std::optional<c10::Device> scalar, given;
  for (const c10::IValue& argument : arguments) {
    std::optional<c10::Device> found;
    for_each_tensor(argument, [&](const at::Tensor& tensor) {
      if (!tensor.defined() || found) return;
      if (tensor.dim() == 0 && tensor.device().is_cpu()) {
        scalar = tensor.device();
      } else {
        found = tensor.device();
      }
    });
    if (found) return *found;
    if (argument.isDevice()) given = argument.toDevice();
  }
  return given.value_or(scalar.value_or(c10::Device(c10::kCPU)));
}

c10::DispatchKeySet backend_keys(std::span<const c10::IValue> arguments) {
  const auto backend = backend_of(common_device(arguments).type());
  return c10::DispatchKeySet(c10::DispatchKey::Dense) | c10::DispatchKeySet(backend);
}

c10::DispatchKeySet composite_keys(std::span<const c10::IValue> arguments) {
  return backend_keys(arguments) | c10::DispatchKeySet(c10::DispatchKey::AutogradFunctionality);
}

}  // namespace stator
