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

// The symbol of an int that only a run has: the next one, whose value is that of a node which comes next.
// nullopt where there is no room for more.
std::optional<shape::Size> integer_of_run(Session& session, shape::Range range);

// By the graph's nodes: which of them give a symbol its value, and which symbol.
std::vector<std::optional<size_t>> symbols_of_run(const ir::Graph& graph);

}  // namespace stator
