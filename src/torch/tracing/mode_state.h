// src/torch/tracing/mode_state.h: the thread's modes that change what operators do.
#pragma once

#include <c10/core/ScalarType.h>

#include <cstdint>
#include <vector>

#include "core/ir/graph.h"
#include "torch/operators/attention_kernels.h"

namespace stator {

struct AutocastState {
  bool enabled = false;
  c10::ScalarType dtype = c10::ScalarType::Float;
  bool operator==(const AutocastState&) const = default;
};

struct ModeState {
  bool grad = true;
  bool inference = false;
  c10::ScalarType default_dtype = c10::ScalarType::Float;
  AutocastState cpu;
  AutocastState cuda;
  bool autocast_cache = true;
  AttentionKernels attention;
  bool operator==(const ModeState&) const = default;

  // All of it in the low bits of one word, for memo keys and guards; bits 4 to 7 are left free.
  static constexpr int kBits = 26 + AttentionKernels::kBits;
  uint64_t word() const;
  static constexpr uint64_t kGradBit = 1;
};

ModeState current_modes();

// Settings of the process that change which kernel answers, and so the layout of results: part of memo keys
// and of every capture's guards.
constexpr int kKernelSettingsBits = 2;
uint64_t kernel_settings();

// Modes of the thread that see every operator or tensor (dispatch modes, saved tensor hooks, functorch's
// transforms, torch.jit.trace): nothing is captured under them. For torch-function modes see
// domain/default_device.h.
bool under_unsupported_mode();

// Appends the nodes that lead from `from` to `to`; `base` is the state of the caller, which exits lead back
// to.
void append_mode_nodes(ir::Graph& graph, const ModeState& base, const ModeState& from, const ModeState& to,
                       LineId line);

}  // namespace stator
