// src/backends/fused/program/kernel_arguments.h: the addresses and sizes that one run gives a kernel.
#pragma once

#include "backends/fused/plan/plan.h"
#include "backends/fused/program/layout.h"

namespace stator::fused {

class KernelArguments {
 public:
  // `aligned`, by load: the kernel reads memory that is aligned to vectors; what is not is copied.
  KernelArguments(const ir::Graph& graph, const KernelPlan& plan, const std::vector<char>& aligned = {});

  // Of one run: loads, stores, parameters, 8 bytes each.
  struct Filled {
    c10::SmallVector<int64_t, 48> arguments;
    c10::SmallVector<at::Tensor, 2> copies;  // to live until the kernel is done
    c10::SmallVector<int64_t, 8> space;
    c10::IntArrayRef parameters;
  };
  // Makes the results among `values`.
  void fill(std::vector<c10::IValue>& values, const shape::Bindings& bindings, Filled& filled) const;

  static int64_t amount(const Extent& extent, c10::IntArrayRef parameters) {
    return extent.is_number() ? extent.number : parameters[static_cast<size_t>(extent.parameter)];
  }

 private:
  struct Source {
    uint32_t value;
    int64_t element;  // bytes
    int64_t shift;    // elements
    bool is_aligned;
    Layout layout;  // of the root
    Amounts ends;   // first element read, first of the root
  };
  struct Target {
    uint32_t value;
    int64_t offset;  // bytes
    bool is_new;     // else the target before has the same value
    Layout layout;
  };

  std::vector<Source> sources_;
  std::vector<Target> targets_;
  Amounts parameters_;
};

}  // namespace stator::fused
