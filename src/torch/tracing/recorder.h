// src/torch/tracing/recorder.h: turns a boxed operator call into a node of the session's graph.
#pragma once

#include <span>

#include "torch/inference/inference.h"

namespace stator {

// Appends the node and returns its first output value; outputs are numbered consecutively, absent ones
// included.
ir::NodeId record(Session& session, const OperatorInfo& info, std::span<const c10::IValue> arguments,
                  const Inference& inference);

// One argument as the graph stores it.
ir::Operand operand_of(Session& session, const OperatorInfo& info, size_t position,
                       const c10::IValue& argument);

}  // namespace stator
