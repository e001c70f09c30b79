// src/backends/fused/kernel/scalar_text.h: one term as LLVM instructions, given the registers of its
// operands.
#pragma once

#include <string>

#include "backends/fused/kernel/ir_writer.h"
#include "backends/fused/kernel/kernel.h"

namespace stator::fused {

// Of any term but loads, reductions and row sizes. `from` is the type of the first operand.
std::string scalar(IrWriter& w, const Term& term, Type from, const std::string& a, const std::string& b,
                   const std::string& c);

// An element from memory, as its arithmetic type, and back.
std::string load_element(IrWriter& w, ir::DType dtype, const std::string& address);
void store_element(IrWriter& w, ir::DType dtype, const std::string& address, const std::string& value);

size_t element_size(ir::DType dtype);

}  // namespace stator::fused
