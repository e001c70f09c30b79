// src/torch/symbols/sym_node.h: symbolic numbers as torch carries them: c10::SymNode, SymInt, SymFloat.
#pragma once

#include <ATen/core/ivalue.h>
#include <c10/core/SymFloat.h>
#include <c10/core/SymInt.h>
#include <c10/core/SymNodeImpl.h>

#include <memory>
#include <optional>

#include "torch/inference/tensor_meta.h"
#include "torch/symbols/sym_number.h"

namespace stator {

// A plain number becomes a plain SymInt.
c10::SymInt to_sym_int(const Size& size);

// Precondition: it is a symbolic float. Takes the GIL.
c10::SymFloat to_sym_float(const SymNumber& number);

// The size behind a SymInt of ours; one of anybody else's is asked for its number.
Size to_size(const c10::SymInt& value);

// What a SymInt, SymFloat or number in a boxed argument stands for. Nothing where it is no int and no float.
std::optional<SymNumber> to_number(const c10::IValue& value);
std::optional<SymNumber> to_number(const c10::SymNode& node);

// Precondition: it is symbolic.
c10::SymNode to_node(const SymNumber& number);

}  // namespace stator
