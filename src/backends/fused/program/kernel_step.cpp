// src/backends/fused/program/kernel_step.cpp: addresses and sizes of one run, and its threads.
#include "backends/fused/program/kernel_step.h"

#include <ATen/Parallel.h>

#include <array>

#include "backends/fused/kernel/stages.h"
#include "backends/fused/program/kernel_arguments.h"

namespace stator::fused {
namespace {

// Work below this is done before a thread would have begun; in additions.
constexpr int64_t kGrain = 32768;

int64_t cost_of(const Kernel& kernel) {
  int64_t cost = static_cast<int64_t>(kernel.loads.size() + kernel.stores.size());
  for (const Term& term : kernel.terms) {
    cost += is_function(term.op) ? 10 : 1;
  }
  return cost;
}

class KernelStep final : public native::Step {
 public:
  KernelStep(const ir::Graph& graph, const KernelPlan& plan, Function function,
             const std::vector<char>& aligned)
      : function_(function), arguments_(graph, plan, aligned) {
    plan.for_each_value(uses, makes);
    keeps_nothing = true;
    const Kernel& kernel = plan.kernel;
    if (kernel.rows() > 0) outer_ = kernel.sizes[0];
    inner_cost_ = cost_of(kernel);
    for (size_t d = kernel.rows() > 0 ? 1 : 0; d < kernel.sizes.size(); ++d) {
      if (kernel.sizes[d].is_number()) {
        inner_cost_ *= kernel.sizes[d].number;
      } else {
        inner_.push_back(kernel.sizes[d].parameter);
      }
    }
  }

  void run(std::vector<c10::IValue>& values, const shape::Bindings& bindings) const override {
    KernelArguments::Filled filled;
    arguments_.fill(values, bindings, filled);
    const int64_t* arguments = filled.arguments.data();
    const int64_t count = KernelArguments::amount(outer_, filled.parameters);
    int64_t cost = inner_cost_;
    for (int32_t parameter : inner_) cost *= filled.parameters[static_cast<size_t>(parameter)];
    if (count * cost < 2 * kGrain || at::get_num_threads() == 1) {
      function_(arguments, 0, count);
      return;
    }
    at::parallel_for(0, count, std::max<int64_t>(1, kGrain / cost),
                     [&](int64_t begin, int64_t end) { function_(arguments, begin, end); });
  }

 private:
  Function function_;
  KernelArguments arguments_;
  Extent outer_{1, -1};
  int64_t inner_cost_ = 1;
  std::vector<int32_t> inner_;  // sizes of inner dimensions that are parameters
};

class ViewStep final : public native::Step {
 public:
  ViewStep(const ir::Graph& graph, ir::ValueId value, ir::ValueId root)
      : value_(index(value)), root_(index(root)), layout_(graph, value), root_layout_(graph, root) {
    const std::array<shape::Dim, 2> ends = {graph.value(value).storage_offset,
                                            graph.value(root).storage_offset};
    ends_ = Amounts(graph.shapes(), ends);
    const auto equal = [](auto a, auto b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); };
    is_root_ = equal(graph.sizes(value), graph.sizes(root)) &&
               equal(graph.strides(value), graph.strides(root)) && ends[0] == ends[1];
    uses = {root_};
    makes = {value_};
  }

  void run(std::vector<c10::IValue>& values, const shape::Bindings& bindings) const override {
    const at::Tensor& root = values[root_].toTensor();
    const bool fits = root_layout_.fits(root, bindings);
    if (is_root_ && fits) {
      values[value_] = root;
      return;
    }
    c10::SmallVector<int64_t, 8> numbers;
    const c10::IntArrayRef ends = ends_.in(bindings, numbers);
    values[value_] = fits ? layout_.view(root, ends[0] - ends[1], bindings)
                          : layout_.view(root_layout_.arranged(root, bindings), ends[0] - ends[1], bindings);
  }

 private:
  uint32_t value_, root_;
  Layout layout_, root_layout_;
  Amounts ends_;
  bool is_root_ = false;
};

}  // namespace

std::unique_ptr<native::Step> make_kernel_step(const ir::Graph& graph, const KernelPlan& plan,
                                               Function function, const std::vector<char>& aligned) {
  return std::make_unique<KernelStep>(graph, plan, function, aligned);
}

std::unique_ptr<native::Step> make_view_step(const ir::Graph& graph, ir::ValueId value, ir::ValueId root) {
  return std::make_unique<ViewStep>(graph, value, root);
}

}  // namespace stator::fused
