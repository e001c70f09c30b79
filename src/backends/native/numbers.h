// src/backends/native/numbers.h: nodes that calculate with Python's numbers.
#pragma once

#include <ATen/core/stack.h>

#include "core/ir/graph.h"
#include "core/shape/real_function.h"

namespace stator::native {

bool is_number_operator(ir::OpId op);

// With the results that Python gives, and the errors. Kernels run without the GIL, and so may these.
c10::IValue calculate(ir::OpId op, const torch::jit::Stack& arguments);

// The same of kFloatCall; `arguments` are those behind the function's name.
c10::IValue call_function(shape::RealFunction function, const torch::jit::Stack& arguments);

}  // namespace stator::native
