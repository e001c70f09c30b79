// src/torch/operators/overridden_kernels.h: finds torch's C++ meta kernels under the Python registrations
// that hide them.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

namespace stator {

// The oldest kernel registered for the Meta key that is C++ code, or nullptr. `import torch` registers Python
// functions over most of these; running one of those costs 100 to 1000 us, and 0.9 s the first time.
const c10::KernelFunction* hidden_meta_kernel(const c10::OperatorHandle& op);

// Whether autograd has no formula for the operator: its outputs get a history that refuses to run backward.
bool has_no_derivative(const c10::OperatorHandle& op);

}  // namespace stator
