// src/torch/composite_rerun.cpp: composite kernels on tracers, unrecorded.
#include "torch/composite_rerun.h"

#include <ATen/autocast_mode.h>

#include "torch/tensors_in.h"
#include "torch/tracer.h"

namespace stator {

namespace {

struct Copy {
  at::Tensor original;
  at::Tensor copy;
  uint64_t memory;
  int16_t argument;
  int32_t element;
};

struct Unrecorded {
  explicit Unrecorded(Session& session) : session(session), cache(at::autocast::is_autocast_cache_enabled()) {
    ++session.unrecorded;
    at::autocast::set_autocast_cache_enabled(false);  // the cache must never hold tracers
  }
  ~Unrecorded() {
    --session.unrecorded;
    at::autocast::set_autocast_cache_enabled(cache);
  }
  Session& session;
  bool cache;
};

OutputSpec describe(const at::Tensor& tensor, const std::vector<Copy>& copies) {
  OutputSpec spec;
  if (!tensor.defined()) {
    spec.kind = OutputSpec::Kind::undefined;
    return spec;
  }
  spec.meta = meta_of(tensor);
  spec.requires_grad = tensor.requires_grad();
  spec.leaf = tensor.is_leaf();
  const Tracer* tracer = as_tracer(tensor);
  for (const Copy& copy : copies) {
    const bool same = copy.copy.is_same(tensor);
    if (same || (tracer && tracer->identity().memory == copy.memory)) {
      spec.kind = same ? OutputSpec::Kind::same : OutputSpec::Kind::view;
      spec.argument = copy.argument;
      spec.element = copy.element;
      return spec;
    }
  }
  return spec;
}

}  // namespace

void rerun_composite(Session& session, const OperatorInfo& info, c10::DispatchKeySet keys,
                     std::span<const c10::IValue> arguments, Inference& result) {
  std::vector<Copy> copies;
  torch::jit::Stack stack;
  for (size_t i = 0; i < arguments.size(); ++i) {
    int32_t element = 0;
    stack.push_back(map_tensors(arguments[i], [&](const at::Tensor& tensor) -> at::Tensor {
      const int32_t position = element++;
      if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) return tensor;
      for (const Copy& known : copies) {
        if (known.original.is_same(tensor)) return known.copy;
      }
      const uint64_t memory = new_memory();
      at::Tensor copy =
          make_tracer(meta_of(tensor), {session.id(), memory}, tensor.requires_grad(), tensor.is_leaf());
      copies.push_back({tensor, copy, memory, static_cast<int16_t>(i), position});
      return copy;
    }));
  }
  {
    const Unrecorded unrecorded(session);
    info.handle.redispatchBoxed(keys, &stack);
  }
  for (const c10::IValue& value : stack) {
    ReturnSpec spec;
    const size_t before = result.outputs.size();
    if (value.isTensor() || value.isTensorList() || is_optional_tensor_list(value)) {
      for_each_tensor(value, [&](const at::Tensor& t) { result.outputs.push_back(describe(t, copies)); });
      spec.kind = value.isTensor() ? ReturnSpec::Kind::tensor : ReturnSpec::Kind::list;
      spec.count = static_cast<uint32_t>(result.outputs.size() - before);
    } else {
      spec.kind = ReturnSpec::Kind::constant;
      spec.count = 0;
      spec.constant = value;
    }
    result.returns.push_back(std::move(spec));
  }
  for (const Copy& copy : copies) {
    if (!(info.written >> copy.argument & 1)) continue;
    OutputSpec spec = describe(copy.copy, copies);
    bool is_output = false;
    for (const OutputSpec& output : result.outputs) {
      is_output |= output.kind == OutputSpec::Kind::same && output.argument == spec.argument &&
                   output.element == spec.element;
    }
    if (!is_output) result.changed.push_back(std::move(spec));
  }
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
