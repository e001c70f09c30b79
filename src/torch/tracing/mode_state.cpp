// src/torch/tracing/mode_state.cpp: reads the thread's modes and records their changes.
#include "torch/tracing/mode_state.h"

#include <ATen/Context.h>
#include <ATen/SavedTensorHooks.h>
#include <ATen/autocast_mode.h>
#include <c10/core/AutogradState.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>

#include <array>

namespace stator {

namespace {

// Bit 4 belongs to memo keys, bit 6 to forward gradients (domain/torch_domain.cpp).
constexpr uint64_t kAutocastCacheBit = 1 << 5;

AutocastState autocast_state(c10::DeviceType device) {
  AutocastState state;
  state.enabled = at::autocast::is_autocast_enabled(device);
  state.dtype = at::autocast::get_autocast_dtype(device);  // a program can ask for it where it is off, too
  return state;
}

void append(ir::Graph& graph, ir::OpId op, std::initializer_list<ir::Operand> operands, LineId line) {
  graph.append(op, std::span(operands.begin(), operands.size()), {}, line);
}

void append_autocast(ir::Graph& graph, ir::DeviceType device, const AutocastState& base,
                     const AutocastState& from, const AutocastState& to, bool cache, LineId line) {
  using ir::Operand;
  if (from == to) return;
  const ir::Device where{device, -1};
  if (from != base) append(graph, ir::op::kAutocastExit, {Operand::of(where)}, line);
  if (to != base) {
    append(graph, ir::op::kAutocastEnter,
           {Operand::of(where), Operand::of(static_cast<ir::DType>(to.dtype)), Operand::of(to.enabled),
            Operand::of(cache)},
           line);
  }
}

}  // namespace

uint64_t ModeState::word() const {
  uint64_t word =
      (grad ? kGradBit : 0) | (inference ? 2 : 0) | (cpu.enabled ? 4 : 0) | (cuda.enabled ? 8 : 0);
  static_assert(static_cast<int>(c10::ScalarType::NumOptions) <= 64, "six bits for each");
  word |= autocast_cache ? kAutocastCacheBit : 0;
  word |= static_cast<uint64_t>(default_dtype) << 8;
  word |= static_cast<uint64_t>(cpu.dtype) << 14;
  word |= static_cast<uint64_t>(cuda.dtype) << 20;
  return word | attention.word() << 26;
}

// Autocast of other devices than those that a capture follows.
static bool has_other_autocast(c10::DispatchKeySet excluded) {
  constexpr c10::DispatchKeySet others =
      c10::autocast_dispatch_keyset -
      c10::DispatchKeySet({c10::DispatchKey::AutocastCPU, c10::DispatchKey::AutocastCUDA});
  return !(others - excluded).empty();
}

ModeState current_modes() {
  const c10::AutogradState& autograd = c10::AutogradState::get_tls_state();
  ModeState state;
  state.grad = autograd.get_grad_mode();
  state.inference = autograd.get_inference_mode();
  state.default_dtype = c10::get_default_dtype_as_scalartype();
  state.cpu = autocast_state(c10::kCPU);
  state.cuda = autocast_state(c10::kCUDA);
  state.autocast_cache = at::autocast::is_autocast_cache_enabled();
  state.attention = AttentionKernels::current();
  return state;
}

uint64_t kernel_settings() {
  const at::Context& context = at::globalContext();
  return (context.deterministicAlgorithms() ? 1 : 0) | (context.userEnabledMkldnn() ? 2 : 0);
}

bool under_unsupported_mode() {
  const auto keys = c10::impl::tls_local_dispatch_key_set();
  const auto included = keys.included_;
  if (has_other_autocast(keys.excluded_)) return true;
  return c10::impl::TorchDispatchModeTLS::any_modes_set() ||
         included.has(c10::DispatchKey::FuncTorchDynamicLayerFrontMode) ||
         included.has(c10::DispatchKey::Tracer) ||  // torch.jit.trace
         !at::SavedTensorDefaultHooks::get_tls_state().stack.empty();
}

void append_mode_nodes(ir::Graph& graph, const ModeState& base, const ModeState& from, const ModeState& to,
                       LineId line) {
  using ir::Operand;
  // Leaving inference mode restores the grad mode at entry, so this order: inference first, then grad mode.
  // It restores the thread's dispatch keys too, autocast's among them, so autocast is entered inside it.
  bool grad = from.grad;
  AutocastState cpu = from.cpu, cuda = from.cuda;
  if (from.inference != to.inference) {
    append_autocast(graph, ir::DeviceType::kCpu, base.cpu, from.cpu, base.cpu, to.autocast_cache, line);
    append_autocast(graph, ir::DeviceType::kCuda, base.cuda, from.cuda, base.cuda, to.autocast_cache, line);
    cpu = base.cpu;
    cuda = base.cuda;
    if (from.inference != base.inference) {
      append(graph, ir::op::kInferenceExit, {}, line);
    } else {
      append(graph, ir::op::kInferenceEnter, {Operand::of(to.inference)}, line);
    }
    grad = !to.grad;  // unknown here: always set it
  }
  if (grad != to.grad) append(graph, ir::op::kSetGradEnabled, {Operand::of(to.grad)}, line);
  append_autocast(graph, ir::DeviceType::kCpu, base.cpu, cpu, to.cpu, to.autocast_cache, line);
  append_autocast(graph, ir::DeviceType::kCuda, base.cuda, cuda, to.cuda, to.autocast_cache, line);
  if (from.default_dtype != to.default_dtype) {
    append(graph, ir::op::kSetDefaultDType, {Operand::of(static_cast<ir::DType>(to.default_dtype))}, line);
  }
  if (from.attention != to.attention) to.attention.append_node(graph, line);
}

}  // namespace stator
