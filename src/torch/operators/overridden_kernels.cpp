// src/torch/operators/overridden_kernels.cpp: reads the dispatcher's list of registered kernels, newest
// first.
#include "torch/operators/overridden_kernels.h"

namespace stator {

namespace {

// The dispatcher keeps overridden kernels but has no accessor for them. An explicit instantiation may name
// private members, so this reaches them without repeating torch's class layout; should torch rename a member,
// the build says so. (The 310 functions of at::meta are the same kernels; each would need its own unboxing.)
auto definition_of(const c10::OperatorHandle& op);
auto kernels_of(const c10::impl::OperatorEntry& entry);

template <auto Member>
struct ReachDefinition {
  friend auto definition_of(const c10::OperatorHandle& op) { return op.*Member; }
};
template <auto Member>
struct ReachKernels {
  friend auto kernels_of(const c10::impl::OperatorEntry& entry) { return &(entry.*Member); }
};

template struct ReachDefinition<&c10::OperatorHandle::operatorDef_>;
template struct ReachKernels<&c10::impl::OperatorEntry::kernels_>;

}  // namespace

const c10::KernelFunction* hidden_meta_kernel(const c10::OperatorHandle& op) {
  const auto* registered = kernels_of(definition_of(op)->op);
  const auto found = registered->find(c10::DispatchKey::Meta);
  if (found == registered->end()) return nullptr;
  for (const auto& annotated : found->second) {
    const c10::KernelFunction& kernel = annotated.kernel;
    if (kernel.isValidUnboxed() || kernel.isValidSymUnboxed()) return &kernel;
  }
  return nullptr;
}

bool has_no_derivative(const c10::OperatorHandle& op) {
  const auto* registered = kernels_of(definition_of(op)->op);
  const auto found = registered->find(c10::DispatchKey::Autograd);
  if (found == registered->end()) return false;
  // Formulas are compiled, so their kernels can be called unboxed. The one kernel for all others cannot.
  const c10::KernelFunction& kernel = found->second.front().kernel;
  return !kernel.isValidUnboxed() && !kernel.isValidSymUnboxed() && !kernel.isFallthrough();
}

}  // namespace stator
