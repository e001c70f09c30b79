// src/torch/inference/constant_predicates.h: questions about values that can be answered before there are
// any.
#pragma once

#include <ATen/core/ivalue.h>

#include <optional>
#include <span>

#include "torch/operators/operator_info.h"
#include "torch/tracing/session.h"

namespace stator {

// What a tensor of one element that is asked for its truth will say in every run, where that is known: a
// random number from [0, 1) compared with a number outside of it (layer drop with probability 0), and the
// checks of arguments in torch.distributions, which are taken as passed.
std::optional<bool> constant_predicate(const Session& session, const OperatorInfo& info,
                                       std::span<const c10::IValue> arguments);

}  // namespace stator
