// src/backends/fused/training/joint_trace.h: a captured graph run once on tracers with autograd on, and the
// backward recorded behind it.
#pragma once

#include <ATen/core/Tensor.h>

#include <span>
#include <string>
#include <vector>

#include "backends/native/program.h"
#include "core/pass/partition.h"
#include "core/result.h"

namespace stator::fused {

// Inputs of the joint graph: the captured graph's tensors, the gradients of results, and constants.
struct JointTrace {
  // A result of the captured graph.
  struct Output {
    size_t result = SIZE_MAX;  // which of the joint graph's results; SIZE_MAX: an input itself
    size_t input = SIZE_MAX;
    size_t gradient = SIZE_MAX;  // which gradient comes for it; SIZE_MAX: autograd does not record it
    size_t view = SIZE_MAX;      // it is this view of that result or input
  };
  pass::JointGraph joint;
  std::vector<at::Tensor> constants;
  std::vector<Output> outputs;
  // Results that share memory with others, or with inputs, made of those by torch's operators and under its
  // autograd, as views are in eager code. Its inputs: what they are views of.
  ir::Graph views;
  std::vector<Output> viewed;
  // Which gradients of results the nodes of autograd's get. A result that others come of has a node of its
  // own, so that hooks on it, and gradients that are asked for there, see what comes by way of the others.
  // Each is behind those that it comes of; the last node is that of all other results.
  std::vector<std::vector<size_t>> nodes;
  std::vector<size_t> differentiable;  // inputs that require a gradient, by number
  // For each of those: which gradient of the joint graph's is its own; SIZE_MAX: none comes there.
  std::vector<size_t> gradient_of;
};

// `has_gradient`: which results get one, by JointTrace::Output::gradient; empty: all. The GIL is held. The
// error says what stands in the way.
Result<JointTrace, std::string> trace_joint(const ir::Graph& graph, std::span<const at::Tensor> inputs,
                                            const shape::Bindings& bindings,
                                            const std::vector<char>& has_gradient);

}  // namespace stator::fused
