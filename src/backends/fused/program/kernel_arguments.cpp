// src/backends/fused/program/kernel_arguments.cpp: reads values, allocates results.
#include "backends/fused/program/kernel_arguments.h"

#include <array>

#include "backends/fused/kernel/scalar_text.h"

namespace stator::fused {

static constexpr uintptr_t kVectorBytes = 16;

KernelArguments::KernelArguments(const ir::Graph& graph, const KernelPlan& plan,
                                 const std::vector<char>& aligned)
    : parameters_(graph.shapes(), plan.parameters) {
  for (size_t i = 0; i < plan.loads.size(); ++i) {
    const KernelPlan::Operand& load = plan.loads[i];
    const auto size = static_cast<int64_t>(element_size(graph.value(load.root).dtype));
    const std::array<shape::Dim, 2> ends = {load.offset, load.base};
    sources_.push_back({index(load.root), size, load.shift, i < aligned.size() && aligned[i] != 0,
                        Layout(graph, load.root), Amounts(graph.shapes(), ends)});
  }
  for (const KernelPlan::Result& store : plan.stores) {
    const auto size = static_cast<int64_t>(element_size(graph.value(store.value).dtype));
    const bool is_new = targets_.empty() || targets_.back().value != index(store.value);
    targets_.push_back({index(store.value), store.offset * size, is_new, Layout(graph, store.value)});
  }
}

void KernelArguments::fill(std::vector<c10::IValue>& values, const shape::Bindings& bindings,
                           Filled& filled) const {
  for (const Source& source : sources_) {
    const at::Tensor* tensor = &values[source.value].toTensor();
    const bool lies_wrong =
        source.is_aligned && reinterpret_cast<uintptr_t>(tensor->const_data_ptr()) % kVectorBytes != 0;
    if (lies_wrong || !source.layout.fits(*tensor, bindings)) {
      filled.copies.push_back(lies_wrong ? source.layout.copied(*tensor, bindings)
                                         : source.layout.arranged(*tensor, bindings));
      tensor = &filled.copies.back();
    }
    const c10::IntArrayRef ends = source.ends.in(bindings, filled.space);
    const auto first = reinterpret_cast<int64_t>(tensor->const_data_ptr());
    filled.arguments.push_back(first + (ends[0] - ends[1] + source.shift) * source.element);
  }
  for (const Target& target : targets_) {
    if (target.is_new) values[target.value] = target.layout.allocate(bindings);
    void* const first = values[target.value].toTensor().data_ptr();
    filled.arguments.push_back(reinterpret_cast<int64_t>(first) + target.offset);
  }
  filled.parameters = parameters_.in(bindings, filled.space);
  filled.arguments.append(filled.parameters.begin(), filled.parameters.end());
}

}  // namespace stator::fused
