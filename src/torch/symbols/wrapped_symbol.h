// src/torch/symbols/wrapped_symbol.h: symbolic numbers that torch's bindings pass as tensors.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "torch/symbols/sym_number.h"

namespace stator {

// A SymInt or SymFloat given where an operator wants a tensor arrives as a wrapped number of no meaning; its
// Python object has the number as an attribute. Nothing for other wrapped numbers.
std::optional<SymNumber> wrapped_symbol(const at::Tensor& tensor);

}  // namespace stator
