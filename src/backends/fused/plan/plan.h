// src/backends/fused/plan/plan.h: how a graph is run: kernels, views and torch's operators, in order.
#pragma once

#include <string>
#include <vector>

#include "backends/fused/kernel/kernel.h"
#include "core/ir/graph.h"
#include "core/shape/dim.h"

namespace stator::fused {

// A kernel, and the values of the graph that it reads and makes.
struct KernelPlan {
  struct Operand {
    ir::ValueId root;         // whose memory is read
    shape::Dim offset, base;  // the first element read and the root's first, as storage offsets
    int64_t shift = 0;        // added to the offset
  };
  struct Result {
    ir::ValueId value;
    int64_t offset;  // of the first element that is written, in the memory of the value
  };
  Kernel kernel;
  std::vector<Operand> loads;          // in the order of Kernel::loads
  std::vector<Result> stores;          // in the order of Kernel::stores; those of a value stand together
  std::vector<shape::Dim> parameters;  // in the order of the kernel's
  std::vector<uint32_t> nodes;         // that it computes

  // The values that it reads and makes.
  void for_each_value(std::vector<uint32_t>& uses, std::vector<uint32_t>& makes) const {
    for (const Operand& load : loads) uses.push_back(index(load.root));
    for (const Result& store : stores) {
      if (makes.empty() || makes.back() != index(store.value)) makes.push_back(index(store.value));
    }
  }
};

struct Step {
  enum class Kind : uint8_t {
    node,    // one of the graph's, by torch
    kernel,  // of Plan::kernels
    view,    // of a value on the memory of its root, for torch's operators
  };
  Kind kind;
  uint32_t index;                         // of the node, the kernel or the value
  ir::ValueId root = ir::ValueId::kNone;  // of a view
};

struct Plan {
  ir::Device device;  // that kernels run on
  std::vector<Step> steps;
  std::vector<KernelPlan> kernels;
};

// Why torch runs the whole graph: gradients are recorded, or regions. Empty if kernels may take parts of it.
std::string obstacle(const ir::Graph& graph);

// A CUDA device that the graph works on, or else the CPU. What is on another one is torch's.
ir::Device kernel_device(const ir::Graph& graph);

// Which 16-bit floats a kernel rounds besides those that it stores. `every`: all results of operators, so
// that a value comes out the same whichever kernel computes it, out of whatever is stored. The backward of a
// training graph computes values of the forward once more, and compares them with what is kept (`x == amax`).
enum class Rounding : uint8_t { stored, every };

// Precondition: there is no obstacle.
Plan make_plan(const ir::Graph& graph, Language language, Rounding rounding);

}  // namespace stator::fused
