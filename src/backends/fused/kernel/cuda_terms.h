// src/backends/fused/kernel/cuda_terms.h: one term as an expression of CUDA C++, given those of its operands.
#pragma once

#include <string>

#include "backends/fused/kernel/kernel.h"

namespace stator::fused {

std::string type_text(Type type);
// Of elements in memory: 16-bit floats and booleans are integers there.
std::string memory_type(ir::DType dtype);
std::string loaded_text(ir::DType dtype, const std::string& place);
std::string stored_text(ir::DType dtype, const std::string& value);

// Of any term but loads and row sizes; of a reduction, one step of it. `from` is the type of the first
// operand.
std::string term_text(const Term& term, Type from, const std::string& a, const std::string& b,
                      const std::string& c);
// Where a reduction begins.
std::string identity_text(Op op, Type type);

}  // namespace stator::fused
