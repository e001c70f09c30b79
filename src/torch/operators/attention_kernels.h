// src/torch/operators/attention_kernels.h: which kernels attention may use, and which it prefers
// (torch.nn.attention.sdpa_kernel).
#pragma once

#include <ATen/core/List.h>

#include <cstdint>

#include "core/ir/graph.h"

namespace stator {

struct AttentionKernels {
  static constexpr int kBits = 20;
  uint32_t enabled = 0;  // a bit for each at::SDPBackend
  uint32_t order = 0;    // three bits for each, the first choice lowest
  bool operator==(const AttentionKernels&) const = default;

  // Of the process: torch keeps no such state for threads.
  static AttentionKernels current();
  void make_current() const;

  uint64_t word() const { return enabled | uint64_t{order} << 5; }
  // As operands of a node: a bool for each kernel, by its number, and the numbers in the order of preference.
  void append_node(ir::Graph& graph, LineId line) const;
  static AttentionKernels from(const c10::List<bool>& enabled, const c10::List<int64_t>& order);
};

}  // namespace stator
