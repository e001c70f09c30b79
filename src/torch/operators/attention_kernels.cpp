// src/torch/operators/attention_kernels.cpp: reads and writes torch's choice of attention kernels.
#include "torch/operators/attention_kernels.h"

#include <ATen/Context.h>

#include <array>

namespace stator {
namespace {

static_assert(at::num_sdp_backends == 5, "a bit and three bits for each kernel");

constexpr uint32_t bit(at::SDPBackend backend) { return 1u << static_cast<int>(backend); }

std::array<int64_t, at::num_sdp_backends> numbers_of(uint32_t order) {
  std::array<int64_t, at::num_sdp_backends> numbers{};
  for (size_t i = 0; i < numbers.size(); i++) numbers[i] = order >> (3 * i) & 7;
  return numbers;
}

}  // namespace

AttentionKernels AttentionKernels::current() {
  at::Context& context = at::globalContext();
  AttentionKernels kernels;
  kernels.enabled = (context.userEnabledMathSDP() ? bit(at::SDPBackend::math) : 0) |
                    (context.userEnabledFlashSDP() ? bit(at::SDPBackend::flash_attention) : 0) |
                    (context.userEnabledMemEfficientSDP() ? bit(at::SDPBackend::efficient_attention) : 0) |
                    (context.userEnabledCuDNNSDP() ? bit(at::SDPBackend::cudnn_attention) : 0) |
                    (context.userEnabledOverrideableSDP() ? bit(at::SDPBackend::overrideable) : 0);
  const auto order = context.sDPPriorityOrder();
  for (size_t i = 0; i < order.size(); i++) kernels.order |= (static_cast<uint32_t>(order[i]) & 7) << (3 * i);
  return kernels;
}

void AttentionKernels::make_current() const {
  at::Context& context = at::globalContext();
  const auto has = [&](at::SDPBackend backend) { return (enabled & bit(backend)) != 0; };
  context.setSDPUseMath(has(at::SDPBackend::math));
  context.setSDPUseFlash(has(at::SDPBackend::flash_attention));
  context.setSDPUseMemEfficient(has(at::SDPBackend::efficient_attention));
  context.setSDPUseCuDNN(has(at::SDPBackend::cudnn_attention));
  context.setSDPUseOverrideable(has(at::SDPBackend::overrideable));
  const auto numbers = numbers_of(order);
  context.setSDPPriorityOrder({numbers.begin(), numbers.end()});
}

void AttentionKernels::append_node(ir::Graph& graph, LineId line) const {
  std::array<bool, at::num_sdp_backends> bits{};
  for (size_t i = 0; i < bits.size(); i++) bits[i] = (enabled >> i & 1) != 0;
  const ir::Operand operands[] = {graph.bool_list(bits), graph.int_list(numbers_of(order))};
  graph.append(ir::op::kSetAttentionKernels, operands, {}, line);
}

AttentionKernels AttentionKernels::from(const c10::List<bool>& enabled, const c10::List<int64_t>& order) {
  AttentionKernels kernels;
  for (size_t i = 0; i < enabled.size(); i++) kernels.enabled |= static_cast<uint32_t>(enabled.get(i)) << i;
  for (size_t i = 0; i < order.size(); i++)
    kernels.order |= (static_cast<uint32_t>(order.get(i)) & 7) << (3 * i);
  return kernels;
}

}  // namespace stator
