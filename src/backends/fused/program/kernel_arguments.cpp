// src/backends/fused/program/kernel_arguments.cpp: reads values, allocates results.
#include "backends/fused/program/kernel_arguments.h"

#include <array>

#include "backends/fused/kernel/scalar_text.h"

namespace stator::fused {

KernelArguments::KernelArguments(const ir::Graph& graph, const KernelPlan& plan)
    : parameters_(graph.shapes(), plan.parameters) {
  for (const KernelPlan::Operand& load : plan.loads) {
    const auto size = static_cast<int64_t>(element_size(graph.value(load.root).dtype));
    const std::array<shape::Dim, 2> ends = {load.offset, load.base};
    sources_.push_back({index(load.root), size, Layout(graph, load.root), Amounts(graph.shapes(), ends)});
  }
  for (ir::ValueId store : plan.stores) targets_.push_back({index(store), Layout(graph, store)});
}

void KernelArguments::fill(std::vector<c10::IValue>& values, const shape::Bindings& bindings,
                           Filled& filled) const {
  for (const Source& source : sources_) {
    const at::Tensor* tensor = &values[source.value].toTensor();
    if (!source.layout.fits(*tensor, bindings)) {
      filled.copies.push_back(source.layout.arranged(*tensor, bindings));
      tensor = &filled.copies.back();
    }
    const c10::IntArrayRef ends = source.ends.in(bindings, filled.space);
    const auto first = reinterpret_cast<int64_t>(tensor->const_data_ptr());
    filled.arguments.push_back(first + (ends[0] - ends[1]) * source.element);
  }
  for (const Target& target : targets_) {
    at::Tensor made = target.layout.allocate(bindings);
    filled.arguments.push_back(reinterpret_cast<int64_t>(made.data_ptr()));
    values[target.value] = std::move(made);
  }
  filled.parameters = parameters_.in(bindings, filled.space);
  filled.arguments.append(filled.parameters.begin(), filled.parameters.end());
}

}  // namespace stator::fused
