// src/torch/tracing/integer_reads.h: ints that the program reads off tensors, as symbols that only a run
// knows.
#pragma once

#include <optional>

#include "torch/operators/operator_info.h"
#include "torch/tracing/session.h"

namespace stator {

// Whether numbers that are read off tensors are part of graphs for backends that compile them: the setting
// `capture_scalar_outputs`.
bool captures_scalars(const Session& session);

// A node that reads the int of a tensor with one element, and its symbol, which has no value at capture. The
// symbols without one are those of such nodes, in the order of the graph. Returns nullopt for other
// operators.
std::optional<shape::Size> read_integer(Session& session, const OperatorInfo& info, const at::Tensor& tensor);

}  // namespace stator
