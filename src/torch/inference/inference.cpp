// src/torch/inference/inference.cpp: the order in which sources of shapes are asked.
#include "torch/inference/inference.h"

#include <ATen/autocast_mode.h>
#include <c10/core/GradMode.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <stdexcept>

#include "core/shape/assumed_sizes.h"
#include "torch/inference/composite_inference.h"
#include "torch/inference/eager_error_probe.h"
#include "torch/inference/gradient_flow.h"
#include "torch/inference/memo.h"
#include "torch/inference/meta_run.h"
#include "torch/inference/quiet_warnings.h"
#include "torch/operators/boxed_call.h"
#include "torch/operators/tensors_in.h"
#include "torch/tracing/capture_break.h"
#include "torch/tracing/caught_error.h"
#include "torch/tracing/tracer.h"

namespace stator {

namespace {

// One per process: captures are serialised by the engine.
Memo& memo() {
  static Memo instance;
  return instance;
}

std::optional<c10::DispatchKey> autocast_key(const OperatorInfo& info,
                                             std::span<const c10::IValue> arguments) {
  if (!at::autocast::is_autocast_enabled(c10::kCPU) && !at::autocast::is_autocast_enabled(c10::kCUDA))
    return {};
  std::optional<c10::DispatchKey> key;
  for (const c10::IValue& argument : arguments) {
    for_each_tensor(argument, [&](const at::Tensor& tensor) {
      if (key || !tensor.defined() || tensor.unsafeGetTensorImpl()->is_wrapped_number()) return;
      const auto device = tensor.device().type();
      if (device != c10::kCPU && device != c10::kCUDA) return;
      if (!at::autocast::is_autocast_enabled(device)) return;
      const auto candidate =
          device == c10::kCPU ? c10::DispatchKey::AutocastCPU : c10::DispatchKey::AutocastCUDA;
      if (info.handle.hasKernelForDispatchKey(candidate) &&
          !info.handle.isKernelFallthroughKernel(candidate)) {
        key = candidate;
      }
    });
  }
  return key;
}

bool has_lazy_tensor(std::span<const c10::IValue> arguments) {
  bool lazy = false;
  for (const c10::IValue& argument : arguments) {
    for_each_tensor(argument,
                    [&](const at::Tensor& t) { lazy |= t.defined() && (t.is_conj() || t.is_neg()); });
  }
  return lazy;
}

// Whether torch copies lazily conjugated and negated arguments before the kernel sees them: its fallbacks for
// those keys do, for operators that compute something new. Composites look at their arguments as they are.
bool materializes(const OperatorInfo& info) {
  return !info.composite_implicit && info.written == 0 &&
         !info.handle.hasKernelForDispatchKey(c10::DispatchKey::Conjugate) &&
         !info.handle.hasKernelForDispatchKey(c10::DispatchKey::Negative);
}

// Whether it has `out=` arguments. Kernels resize those without asking the dispatcher, which gives a tracer
// memory, and may then compare that with the memory of other tracers, which have none.
bool has_out(const OperatorInfo& info) {
  const auto& arguments = info.handle.schema().arguments();
  return std::ranges::any_of(arguments, [](const c10::Argument& argument) {
    return argument.kwarg_only() && argument.alias_info() && argument.alias_info()->isWrite();
  });
}

bool apply_rule(const OperatorInfo& info, std::span<const c10::IValue> arguments, Inference& result) {
  const bool lazy = has_lazy_tensor(arguments);
  if (lazy && !materializes(info)) return false;
  const BoxedCall call(info, arguments, lazy);
  Answer answer;
  if (!info.rule(call, answer)) return false;
  for (const OutputSpec& spec : answer.specs) {
    if (lazy && spec.kind != OutputSpec::Kind::fresh) return false;
  }
  const auto& returns = info.handle.schema().returns();
  result.outputs = std::move(answer.specs);
  if (returns.size() == 1 && returns[0].type()->kind() == c10::TypeKind::ListType) {
    result.returns.push_back({ReturnSpec::Kind::list, static_cast<uint32_t>(result.outputs.size()), {}});
  } else {
    TORCH_INTERNAL_ASSERT(result.outputs.size() == returns.size(), "shape rule of ", info.name);
    result.returns.resize(returns.size());
  }
  return true;
}

void ask_sources(Session& session, const OperatorInfo& info, std::span<const c10::IValue> arguments,
                 Inference& result) {
  if (const auto key = autocast_key(info, arguments)) {
    ++session.counters.composite_calls;
    return rerun_composite(session, info, c10::DispatchKeySet(*key), arguments, result);
  }
  if (info.rule && apply_rule(info, arguments, result)) {
    ++session.counters.rule_calls;
    return flow_gradients(info, arguments, result);
  }
  if (info.dynamic_shape)
    raise_break(BreakCode::kDataDependentOperator, info.name + ": the shape depends on values");
  if (info.composite_implicit) {
    ++session.counters.composite_calls;
    return rerun_composite(session, info, composite_keys(arguments), arguments, result);
  }
  if (info.meta_kernel) {
    try {
      run_hidden_meta(info, arguments, result);
      ++session.counters.meta_calls;
      return flow_gradients(info, arguments, result);
    } catch (const c10::NotImplementedError&) {
      result = {};
    }
  }
  // An operator of a library may have its kernel in Python, which is no part of the program; where it says
  // what comes out of it, that is asked.
  const bool is_told =
      !info.name.starts_with("aten::") && info.handle.hasKernelForDispatchKey(c10::DispatchKey::Meta);
  if (info.composite_explicit && !has_out(info) && !is_told) {
    // Lists are worked off element by element: so flow their gradients. Other kernels run below autograd.
    const bool elementwise = info.name.rfind("aten::_foreach_", 0) == 0;
    try {
      {
        const c10::AutoGradMode mode(elementwise && c10::GradMode::is_enabled());
        rerun_composite(session, info, backend_keys(arguments), arguments, result);
      }
      ++session.counters.composite_calls;
      if (!elementwise) flow_gradients(info, arguments, result);
      return;
    } catch (const std::exception&) {
      drop_caught();
      result = {};  // it looks at values: the meta kernel may know better
    }
  }
  ++session.counters.dispatched_meta_calls;
  run_dispatched_meta(info, arguments, result);
}

}  // namespace

void clear_memo() { memo().clear(); }

const Inference& infer(Session& session, const OperatorInfo& info, std::span<const c10::IValue> arguments) {
  thread_local MemoKey scratch;
  thread_local Inference unkept;
  scratch.build(info, arguments);
  if (scratch.valid) {
    if (const Inference* known = memo().find(scratch)) {
      ++session.counters.memo_hits;
      return *known;
    }
  }
  const MemoKey key = scratch;  // nested inferences use the scratch key
  Inference result;
  const QuietWarnings quiet;
  try {
    // What squeezes counts dimensions by their sizes. What splits takes all of a dimension, or raises.
    const shape::AssumedSizes assumed(!info.name.starts_with("aten::squeeze"),
                                      info.name == "aten::split_with_sizes");
    ask_sources(session, info, arguments, result);
  } catch (const std::domain_error& error) {
    raise_break(BreakCode::kDataDependentOperator, info.name + ": " + error.what());
  } catch (const CaptureBreak& inside) {
    // A composite was re-run, and one of its operators had no answer.
    if (inside.code == BreakCode::kShapeInference) refuse_as_eager(session, info, arguments);
    throw;
  } catch (const c10::Error& error) {
    refuse_as_eager(session, info, arguments);
    raise_break(BreakCode::kShapeInference, info.name + ": " + error.what_without_backtrace());
  } catch (const std::exception& error) {
    const std::string what = error.what();
    drop_caught();
    refuse_as_eager(session, info, arguments);
    raise_break(BreakCode::kShapeInference, info.name + ": " + what);
  }
  if (key.valid) return memo().add(key, std::move(result));
  unkept = std::move(result);
  return unkept;
}

}  // namespace stator
