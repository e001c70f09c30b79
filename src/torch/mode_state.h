// src/torch/mode_state.h: the thread's modes that change what operators do.
#pragma once

#include <c10/core/ScalarType.h>

#include <cstdint>
#include <vector>

#include "core/ir/graph.h"

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
  bool operator==(const ModeState&) const = default;

  // All of it in one word, for memo keys.
  uint64_t word() const;
};

ModeState current_modes();

// Settings of the process that change which kernel answers, and so the layout of results: part of memo keys
// and of every capture's guards.
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
