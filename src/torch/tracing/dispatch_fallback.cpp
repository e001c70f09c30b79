// src/torch/tracing/dispatch_fallback.cpp: the one place where every operator of a capture arrives.
#include "torch/tracing/dispatch_fallback.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/GradMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include <stdexcept>

#include "torch/inference/constant_predicates.h"
#include "torch/inference/eager_error_probe.h"
#include "torch/inference/inference.h"
#include "torch/inference/rules/layout.h"
#include "torch/operators/custom_forward_checks.h"
#include "torch/operators/operator_info.h"
#include "torch/operators/tensors_in.h"
#include "torch/operators/value_errors.h"
#include "torch/symbols/sym_node.h"
#include "torch/tracing/binding_warnings.h"
#include "torch/tracing/capture_break.h"
#include "torch/tracing/integer_reads.h"
#include "torch/tracing/last_read.h"
#include "torch/tracing/recorder.h"
#include "torch/tracing/session.h"
#include "torch/tracing/tracer.h"
#include "torch/tracing/wrapper_tensors.h"

namespace stator {

namespace {

using Stack = torch::jit::Stack;

enum class Arrival : uint8_t { ordinary, wrapped, subclass };

// Tensors that the session cannot stand for raise a break. Wrappers arrive here only when their transform has
// ended (inside of it our key is off), and torch knows what to make of them.
Arrival check_arguments(Session& session, std::span<const c10::IValue> arguments) {
  Arrival arrival = Arrival::ordinary;
  for (const c10::IValue& argument : arguments) {
    for_each_tensor(argument, [&](const at::Tensor& tensor) {
      if (!tensor.defined()) return;
      const auto keys = tensor.key_set();
      if (is_wrapper(tensor)) arrival = Arrival::wrapped;
      if (keys.has(c10::DispatchKey::Python)) {
        if (!session.wrappers)
          raise_break(BreakCode::kTensorSubclass, "a tensor subclass with __torch_dispatch__");
        arrival = Arrival::subclass;
        return;
      }
      if (tensor.layout() != c10::kStrided || tensor.is_nested()) {
        raise_break(BreakCode::kTensorLayout, "a tensor whose layout is not strided");
      }
      if (const Tracer* tracer = as_tracer(tensor)) {
        if (tracer->identity().session != session.id())
          raise_break(BreakCode::kThread, "a tensor of another capture");
        if (has_drifted(tensor, *tracer) && !session.record_drift(tensor, *tracer)) {
          raise_break(BreakCode::kMetadataDrift,
                      "the autograd state of a tensor was changed by something else than an operator");
        }
      }
    });
  }
  return arrival;
}

// Runs the operator below our key. Tracers among its arguments are only asked for metadata.
void pass_on(const OperatorInfo& info, c10::DispatchKeySet keys, Stack* stack) {
  info.handle.redispatchBoxed(keys.remove(kTracerKey), stack);
}

// No capture is running. A guard object that was made in one and outlived it (inference_mode, kept alive by
// an exception's traceback) may have put our key back when it died: take it out again.
void handle_outside(const OperatorInfo& info, std::span<const c10::IValue> arguments,
                    c10::DispatchKeySet keys, Stack* stack) {
  for (const c10::IValue& argument : arguments) {
    for_each_tensor(argument, [&](const at::Tensor& tensor) {
      if (tensor.defined() && as_tracer(tensor))
        raise_break(BreakCode::kThread, "a tensor of a capture was used outside it");
    });
  }
  c10::impl::tls_set_dispatch_key_included(kTracerKey, false);
  pass_on(info, keys, stack);
}

// What an in-place operator does to a tensor apart from its contents.
void apply_change(const OutputSpec& spec, const at::Tensor& tensor, bool written, bool detaches) {
  Tracer* tracer = as_tracer(tensor);
  const TensorMeta& meta = spec.meta;
  if (!same_layout(meta, meta_of(tensor)) || tensor.scalar_type() != meta.dtype) {
    if (!tracer)
      raise_break(BreakCode::kStorageChange,
                  "an operator changes the shape of a tensor that outlives the capture");
    tracer->set_meta(meta);
  }
  if (!written) return;
  if (tracer && detaches) return drop_history(tensor);
  // torch will raise, before anything is written: the program may catch it.
  const auto is_leaf = [](const at::TensorBase& t) { return t.is_leaf() && t.requires_grad(); };
  if (spec.requires_grad && c10::GradMode::is_enabled() && tensor.requires_grad() &&
      (is_leaf(tensor) || (tensor.is_view() && is_leaf(tensor._base())))) {
    raise_break(BreakCode::kUnsupportedOperator, "an in-place operator on a leaf that requires a gradient");
  }
  const bool base_is_real = tensor.is_view() && !as_tracer(tensor._base());
  if (spec.requires_grad && !tensor.requires_grad()) {
    if (!tracer || base_is_real) {
      raise_break(BreakCode::kUnsupportedOperator,
                  "an in-place operator gives a history to a tensor that outlives the capture");
    }
    attach_history(tensor);
  }
  if (tracer && !base_is_real && !tensor.is_inference()) tensor.unsafeGetTensorImpl()->bump_version();
}

// The tensors an operator returns, in order. `first` is ValueId::kNone where nothing is recorded.
at::Tensor make_output(Session& session, const OperatorInfo& info, std::span<const c10::IValue> arguments,
                       const OutputSpec& spec, ir::ValueId value) {
  switch (spec.kind) {
    case OutputSpec::Kind::undefined:
      return {};
    case OutputSpec::Kind::fresh:
      return make_tracer(spec.meta, {session.id(), new_memory(), index(value)}, spec.requires_grad,
                         spec.leaf);
    case OutputSpec::Kind::view: {
      const at::Tensor base = tensor_at(arguments[spec.argument], spec.element);
      const Tracer* tracer = as_tracer(base);
      const uint64_t memory = tracer ? tracer->identity().memory : session.lift(base).memory;
      return make_view_tracer(spec.meta, {session.id(), memory, index(value)}, base, spec.requires_grad,
                              info.detaches);
    }
    case OutputSpec::Kind::same: {
      at::Tensor tensor = tensor_at(arguments[spec.argument], spec.element);
      apply_change(spec, tensor, (info.written >> spec.argument & 1) != 0, info.detaches);
      if (value != ir::ValueId::kNone) session.move_value(tensor, value);
      return tensor;
    }
  }
  return {};
}

int64_t elements(const TensorMeta& meta) {
  int64_t count = 1;
  for (const Size& size : meta.sizes) count *= size.hint();
  return count;
}

// Compilers make a graph functional first, and torch's own way to do so (AOT autograd) knows four kinds of
// writes that it cannot express: one that resizes an input, one to a list of no tensors, as fused
// optimizers have for the state that they do not keep, one by an operator that has no kernel for fake
// tensors, and one to an `out` that lies otherwise in memory than a new result would.
void refuse_for_compilers(Session& session, const OperatorInfo& info, std::span<const c10::IValue> arguments,
                          const Inference& inference) {
  const auto has_kernel = [&](c10::DispatchKey key) { return info.handle.hasKernelForDispatchKey(key); };
  if (!info.composite_implicit && !info.composite_explicit && !has_kernel(c10::DispatchKey::Meta) &&
      !has_kernel(c10::DispatchKey::CompositeExplicitAutogradNonFunctional))
    raise_break(BreakCode::kUnsupportedOperator,
                info.name + " writes and has no meta kernel, which compilers need");
  // torch writes the overload into the text of its graphs, which is Python.
  if (info.handle.schema().overload_name() == "from")
    raise_break(BreakCode::kUnsupportedOperator, info.name + ", whose name compilers cannot write");
  const auto check_size = [&](const OutputSpec& spec) {
    const at::Tensor tensor = tensor_at(arguments[spec.argument], spec.element);
    const Tracer* tracer = as_tracer(tensor);
    if (tracer == nullptr || elements(spec.meta) == elements(meta_of(tensor))) return;
    for (const Session::Lifted& input : session.inputs) {
      if (input.memory == tracer->identity().memory)
        raise_break(BreakCode::kStorageChange, info.name + " resizes an argument, which no compiler can do");
    }
  };
  for (const OutputSpec& spec : inference.outputs) {
    if (spec.kind == OutputSpec::Kind::same) check_size(spec);
  }
  for (const OutputSpec& spec : inference.changed) check_size(spec);
  for (size_t i = 0; i < arguments.size() && i < 64; i++) {
    if ((info.written >> i & 1) == 0) continue;
    if (arguments[i].isTensorList() && arguments[i].toTensorList().empty())
      raise_break(BreakCode::kUnsupportedOperator,
                  info.name + " writes to an empty list of tensors, which compilers refuse");
    if (!info.handle.schema().arguments()[i].kwarg_only()) continue;
    for_each_tensor(arguments[i], [&](const at::Tensor& out) {
      if (out.defined() && !is_contiguous(meta_of(out)))
        raise_break(BreakCode::kUnsupportedOperator,
                    info.name + " writes to `out` in another order of memory, which compilers do not keep");
    });
  }
}

// `x[mask] = y`, where y has a gradient: that has as many elements as the mask has true ones, so a compiler
// cannot make the backward of it.
void refuse_masked_gradient(const OperatorInfo& info, std::span<const c10::IValue> arguments) {
  if (!info.name.starts_with("aten::index_put") || arguments.size() < 3 || !arguments[2].isTensor()) return;
  if (!c10::GradMode::is_enabled() || !arguments[2].toTensor().requires_grad()) return;
  for (const c10::IValue& index : arguments[1].toListRef()) {
    if (!index.isTensor() || !index.toTensor().defined()) continue;
    const at::ScalarType type = index.toTensor().scalar_type();
    if (type == at::kBool || type == at::kByte)
      raise_break(BreakCode::kUnsupportedOperator,
                  info.name + " with a mask, whose gradient has a size that no compiler knows");
  }
}

void capture(Session& session, const OperatorInfo& info, Stack* stack) {
  const size_t first = stack->size() - info.arguments;
  const std::span<const c10::IValue> arguments(stack->data() + first, info.arguments);
  const Inference& inference = infer(session, info, arguments);
  const bool recorded = session.unrecorded == 0;
  if (recorded && info.written != 0 && !session.changes_tensors)
    refuse_for_compilers(session, info, arguments, inference);
  const bool is_of_capture = session.ends_before_refusal != nullptr;  // other traces go to no compiler
  if (recorded && is_of_capture && !session.changes_tensors) refuse_masked_gradient(info, arguments);
  if (recorded && info.written != 0 && session.wrappers) session.wrappers->check_parts(info, arguments);
  if (session.following != 0 && session.following == session.unrecorded)
    check_followed(session, info, arguments, inference);
  ir::ValueId value = ir::ValueId::kNone;
  if (recorded) {
    if (may_refuse_values(info, arguments)) session.before_refusal(info.name);
    const ir::NodeId node = record(session, info, arguments, inference);
    if (info.written != 0) session.after_write();
    value = session.graph.node(node).first_output;
    session.known.note(info, arguments, inference, value);
  }
  c10::SmallVector<at::Tensor, 4> tensors;
  for (size_t i = 0; i < inference.outputs.size(); ++i) {
    const ir::ValueId id =
        recorded ? ir::ValueId{index(value) + static_cast<uint32_t>(i)} : ir::ValueId::kNone;
    tensors.push_back(make_output(session, info, arguments, inference.outputs[i], id));
  }
  for (const OutputSpec& spec : inference.changed) {
    apply_change(spec, tensor_at(arguments[spec.argument], spec.element), true, false);
  }
  c10::SmallVector<c10::IValue, 4> results;
  size_t next = 0;
  for (const ReturnSpec& spec : inference.returns) {
    if (spec.kind == ReturnSpec::Kind::tensor) {
      results.emplace_back(std::move(tensors[next++]));
    } else if (spec.kind == ReturnSpec::Kind::list) {
      c10::List<at::Tensor> list;
      for (uint32_t i = 0; i < spec.count; ++i) list.push_back(std::move(tensors[next++]));
      results.emplace_back(std::move(list));
    } else {
      results.push_back(spec.constant);
    }
  }
  torch::jit::drop(*stack, info.arguments);
  for (c10::IValue& result : results) stack->push_back(std::move(result));
}

// A tensor literal: the graph keeps the tensor and copies it at each run, so that no run sees another's
// writes.
void capture_literal(Session& session, Stack* stack) {
  static const OperatorInfo* const copy =
      &operator_info(c10::Dispatcher::singleton().findSchemaOrThrow("aten::lift_fresh_copy", ""));
  const at::Tensor literal = stack->back().toTensor();
  if (as_tracer(literal)) return;
  TensorMeta meta = meta_of(literal);
  ir::ValueId value = ir::ValueId::kNone;
  if (session.unrecorded == 0) {
    session.record_modes();
    std::vector<shape::Dim> dims;
    const ir::ValueSpec spec = value_spec(meta, false, dims);
    const ir::Operand operand =
        session.graph.constant(std::make_shared<c10::IValue>(literal), "tensor literal");
    const ir::NodeId node = session.graph.append(copy->id, {&operand, 1}, {&spec, 1}, session.line());
    value = session.graph.node(node).first_output;
    session.known.note_literal(value, literal);
  }
  stack->back() = make_tracer(meta, {session.id(), new_memory(), index(value)}, false, true);
}

// Where the number of a tensor may be known only when the graph runs. False: the capture ends here.
bool capture_read(Session& session, const OperatorInfo& info, Stack* stack) {
  if (!info.reads_number || session.unrecorded != 0) return false;
  const at::Tensor tensor = stack->back().toTensor();
  if (tensor.numel() != 1) return false;
  if (const auto integer = read_integer(session, info, tensor)) {
    stack->back() = to_sym_int(*integer);
    return true;
  }
  if (!at::isFloatingType(tensor.scalar_type())) return false;
  if (!session.reads_numbers && !captures_scalars(session)) return false;
  const SymNumber number = session.read_number(info.id, tensor);
  stack->back() = to_sym_float(number);
  return true;
}

// The same, where its result may be the last that the graph gives.
bool capture_last_read(Session& session, const OperatorInfo& info, Stack* stack) {
  return session.takes_last_read && record_last_read(session, info, stack);
}

// Operators that have a shape for some values' sake are recorded as the last one where they have none.
void capture_or_read(Session& session, const OperatorInfo& info, Stack* stack) {
  if (!session.takes_last_read || !info.dynamic_shape || session.broken) return capture(session, info, stack);
  try {
    return capture(session, info, stack);
  } catch (const CaptureBreak& error) {
    if (error.code != BreakCode::kDataDependentOperator) throw;
    const std::optional<Break> noted = std::exchange(session.broken, std::nullopt);
    if (record_last_read(session, info, stack)) return;
    session.broken = noted;
    throw;
  }
}

void fallback(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  Session* session = Session::current();
  const OperatorInfo& info = operator_info(op);
  const std::span<const c10::IValue> arguments(stack->data() + stack->size() - info.arguments,
                                               info.arguments);
  if (!session) return handle_outside(info, arguments, keys, stack);
  std::optional<c10::impl::ExcludeDispatchKeyGuard> without_autocast;
  if (session->below_autocast) without_autocast.emplace(c10::autocast_dispatch_keyset);
  try {
    if (take_new_warnings() && session->unrecorded == 0)
      raise_break(BreakCode::kOutsideEffect, "a warning of torch's");
    const Arrival arrival = check_arguments(*session, arguments);
    if (arrival == Arrival::wrapped) return pass_on(info, keys, stack);
    if (arrival == Arrival::subclass) {
      return info.kind == OperatorKind::query ? session->wrappers->answer(info, stack)
                                              : session->wrappers->capture(info, stack);
    }
    if (session->has_last_read && info.kind != OperatorKind::query)
      raise_break(BreakCode::kDataDependentOperator, "an operator behind the last one of a segment");
    switch (info.kind) {
      case OperatorKind::query:
        return pass_on(info, keys, stack);
      case OperatorKind::data_dependent:
        if (const auto truth = constant_predicate(*session, info, arguments)) {
          torch::jit::drop(*stack, info.arguments);
          stack->emplace_back(*truth);
          return;
        }
        if (auto answer = session->known.answer(*session, info, arguments)) {
          torch::jit::drop(*stack, info.arguments);
          stack->push_back(std::move(*answer));
          return;
        }
        if (capture_read(*session, info, stack)) return;
        // Its kernel looks at values, which compilers do not have; what comes out looks the same for all.
        if (info.rule && session->changes_tensors) return capture(*session, info, stack);
        if (capture_last_read(*session, info, stack)) return;
        raise_break(BreakCode::kDataDependentOperator, info.name + ": the result depends on values");
      case OperatorKind::lift_fresh:
        return capture_literal(*session, stack);
      case OperatorKind::ordinary:
        return capture_or_read(*session, info, stack);
    }
  } catch (const OperatorRefused& refused) {
    std::rethrow_exception(refused.error);  // the program's, as in eager code
  } catch (const CaptureBreak& error) {
    if (session->unrecorded == session->following) session->note_break(error.code, error.msg);
    throw;
  } catch (const c10::Error& error) {
    raise_break(BreakCode::kInternal, toString(op.operator_name()) + ": " + error.what_without_backtrace());
  } catch (const std::domain_error& error) {
    raise_break(BreakCode::kDataDependentOperator, toString(op.operator_name()) + ": " + error.what());
  } catch (const std::overflow_error& error) {
    raise_break(BreakCode::kShapeInference, toString(op.operator_name()) + ": " + error.what());
  }
}

TORCH_LIBRARY_IMPL(_, DeferredInit, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback>());
}

}  // namespace

// Called by the module, so that the linker keeps this file and its registration.
void install_dispatch_fallback() {}

}  // namespace stator
