// src/torch/operators/value_errors.h: operators that may refuse what their arguments hold.
#pragma once

#include <ATen/core/ivalue.h>

#include <span>

#include "torch/operators/operator_info.h"

namespace stator {

// Whether its kernel may raise for these arguments, whatever they look like from outside.
bool may_refuse_values(const OperatorInfo& info, std::span<const c10::IValue> arguments);

}  // namespace stator
