// src/torch/replacements/backward.h: backward() in captured code, as one node over the history that a run
// makes.
//
// A run under the native backend builds torch's own history, so its engine computes the gradients there, bit
// for bit as in eager code. The capture needs to know which leaves get one: what it shows as their `grad`
// from then on are results of the node.
#pragma once

#include <Python.h>

#include <vector>

#include "torch/tracing/session.h"

namespace stator {

// What a call of torch's engine asks for: backward(), if it accumulates.
struct BackwardCall {
  std::vector<at::Tensor> roots;
  std::vector<at::Tensor> gradients;  // undefined for None
  std::vector<at::Tensor> inputs;     // the leaves that get one; empty: all
  bool keeps_graph = false;
};

// Records it, with its writes to `grad` of the leaves. Raises a break where the leaves are not known for
// sure, or where code of the program's would run in between.
void record_backward(Session& session, const BackwardCall& call);

}  // namespace stator
