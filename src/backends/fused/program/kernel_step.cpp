// src/backends/fused/program/kernel_step.cpp: addresses and sizes of one run, and its threads.
#include "backends/fused/program/kernel_step.h"

#include <ATen/Parallel.h>

#include <array>

#include "backends/fused/kernel/scalar_text.h"
#include "backends/fused/program/layout.h"

namespace stator::fused {
namespace {

// Work below this is done before a thread would have begun; in additions.
constexpr int64_t kGrain = 32768;

int64_t cost_of(const Kernel& kernel) {
  int64_t cost = static_cast<int64_t>(kernel.loads.size() + kernel.stores.size());
  for (const Term& term : kernel.terms) {
    const bool is_function =
        term.op == Op::exp || term.op == Op::log || term.op == Op::tanh || term.op == Op::erf;
    cost += is_function ? 10 : 1;
  }
  return cost;
}

class KernelStep final : public native::Step {
 public:
  KernelStep(const ir::Graph& graph, const KernelPlan& plan, Function function)
      : function_(function), parameters_(graph.shapes(), plan.parameters) {
    for (const KernelPlan::Operand& load : plan.loads) {
      const int64_t size = static_cast<int64_t>(element_size(graph.value(load.root).dtype));
      const std::array<shape::Dim, 2> ends = {load.offset, load.base};
      sources_.push_back({index(load.root), size, Layout(graph, load.root), Amounts(graph.shapes(), ends)});
      uses.push_back(index(load.root));
    }
    for (ir::ValueId store : plan.stores) {
      targets_.push_back({index(store), Layout(graph, store)});
      makes.push_back(index(store));
    }
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
    c10::SmallVector<int64_t, 48> arguments;
    c10::SmallVector<at::Tensor, 2> copies;  // live until the kernel is done
    c10::SmallVector<int64_t, 8> numbers;
    for (const Source& source : sources_) {
      const at::Tensor* tensor = &values[source.value].toTensor();
      if (!source.layout.fits(*tensor, bindings)) {
        copies.push_back(source.layout.arranged(*tensor, bindings));
        tensor = &copies.back();
      }
      const c10::IntArrayRef ends = source.ends.in(bindings, numbers);
      const auto first = reinterpret_cast<int64_t>(tensor->const_data_ptr());
      arguments.push_back(first + (ends[0] - ends[1]) * source.element);
    }
    for (const Target& target : targets_) {
      at::Tensor made = target.layout.allocate(bindings);
      arguments.push_back(reinterpret_cast<int64_t>(made.data_ptr()));
      values[target.value] = std::move(made);
    }
    const c10::IntArrayRef parameters = parameters_.in(bindings, numbers);
    arguments.append(parameters.begin(), parameters.end());

    const int64_t count =
        outer_.is_number() ? outer_.number : parameters[static_cast<size_t>(outer_.parameter)];
    int64_t cost = inner_cost_;
    for (int32_t parameter : inner_) cost *= parameters[static_cast<size_t>(parameter)];
    if (count * cost < 2 * kGrain || at::get_num_threads() == 1) {
      function_(arguments.data(), 0, count);
      return;
    }
    at::parallel_for(0, count, std::max<int64_t>(1, kGrain / cost),
                     [&](int64_t begin, int64_t end) { function_(arguments.data(), begin, end); });
  }

 private:
  struct Source {
    uint32_t value;
    int64_t element;  // bytes
    Layout layout;    // of the root
    Amounts ends;     // first element read, first of the root
  };
  struct Target {
    uint32_t value;
    Layout layout;
  };

  Function function_;
  std::vector<Source> sources_;
  std::vector<Target> targets_;
  Amounts parameters_;
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
                                               Function function) {
  return std::make_unique<KernelStep>(graph, plan, function);
}

std::unique_ptr<native::Step> make_view_step(const ir::Graph& graph, ir::ValueId value, ir::ValueId root) {
  return std::make_unique<ViewStep>(graph, value, root);
}

}  // namespace stator::fused
