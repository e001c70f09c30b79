// src/backends/cuda_graphs/recordable.h: which nodes and steps a CUDA graph can hold.
#pragma once

#include <c10/core/Device.h>

#include <optional>
#include <vector>

#include "backends/native/program.h"
#include "core/ir/graph.h"

namespace stator::cuda_graphs {

// Sets Scheduled::in_range where all tensors are on one device of the type, nothing is recorded by autograd,
// nothing runs in Python, and no kernel waits for the device. The device; nothing if there is no such node.
std::optional<c10::Device> mark_recordable(const ir::Graph& graph, c10::DeviceType type,
                                           std::vector<native::Scheduled>& schedule);

// For each scheduled place the alias sets that it writes to, by their first value (ir::Value::storage).
std::vector<std::vector<uint32_t>> written_sets(const ir::Graph& graph,
                                                const std::vector<native::Scheduled>& schedule);
uint32_t alias_set(const ir::Graph& graph, uint32_t value);

}  // namespace stator::cuda_graphs
