// src/backends/fused/kernel/llvm_text.h: a kernel as LLVM's text, ready to be compiled.
#pragma once

#include <optional>
#include <string>

#include "backends/fused/kernel/kernel.h"

namespace stator::fused {

// The element type as terms compute in it; nothing where kernels cannot.
std::optional<Type> arithmetic_type(ir::DType dtype);

// The function `name`: void (ptr arguments, i64 begin, i64 end). The arguments are 8 bytes each: the
// addresses of the loads, those of the stores, the parameters. It runs the outermost dimension from begin to
// end (0 and 1 where there is none that is not reduced). Stores overlap no load and no other store.
std::string llvm_text(const Kernel& kernel, const std::string& name);

// What functions made by llvm_text call; once a module.
std::string llvm_prelude();

}  // namespace stator::fused
