// src/backends/fused/kernel/simplify.cpp: fewer and better ordered dimensions for the same elements.
#include <algorithm>
#include <numeric>

#include "backends/fused/kernel/kernel.h"

namespace stator::fused {

std::string_view text(Op op) {
  static constexpr std::string_view kNames[] = {
#define STATOR_TERM(name) #name,
#include "backends/fused/kernel/terms.def"
  };
  return kNames[static_cast<size_t>(op)];
}

namespace {

template <class Visit>
void for_each_access(Kernel& kernel, Visit visit) {
  for (Access& load : kernel.loads) visit(load);
  for (Store& store : kernel.stores) visit(store.access);
}

// What names a dimension by its number: indices, and accesses to parts.
template <class Visit>
void for_each_named(Kernel& kernel, Visit visit) {
  for_each_access(kernel, [&](Access& access) {
    for (Range& range : access.ranges) visit(range.dim);
  });
  for (Term& term : kernel.terms) {
    if (term.op == Op::index) visit(term.integer);
  }
}

void permute(Kernel& kernel, const std::vector<size_t>& order) {
  const auto permuted = [&](std::vector<Extent>& extents) {
    std::vector<Extent> result;
    for (size_t from : order) result.push_back(extents[from]);
    extents = std::move(result);
  };
  permuted(kernel.sizes);
  for_each_access(kernel, [&](Access& access) { permuted(access.strides); });
  for_each_named(kernel, [&]<class Number>(Number& dim) {
    dim = static_cast<Number>(std::ranges::find(order, static_cast<size_t>(dim)) - order.begin());
  });
}

// Those of the first access that differs along the dimensions from `first` on; empty if there is none, or if
// some are parameters.
std::vector<Extent> leading_strides(Kernel& kernel, size_t first) {
  std::vector<Extent> found;
  const auto look = [&](const Access& access) {
    const auto begin = access.strides.begin() + static_cast<ptrdiff_t>(first);
    if (found.empty() &&
        std::any_of(begin, access.strides.end(), [](const Extent& stride) { return !stride.is(0); }))
      found = access.strides;
  };
  for (const Store& store : kernel.stores) look(store.access);
  for (const Access& load : kernel.loads) look(load);
  const bool known = std::ranges::all_of(found, [](const Extent& stride) { return stride.is_number(); });
  return known ? found : std::vector<Extent>();
}

// Outermost first, by the strides of what is written. Strides that are parameters leave the order as it is:
// they belong to outer dimensions, in the order that the program gave them.
void order_by_memory(Kernel& kernel) {
  if (kernel.stores.empty()) return;
  const std::vector<Extent>& strides = kernel.stores.front().access.strides;
  const size_t rows = kernel.rows();
  const auto is_known = [](const Extent& stride) { return stride.is_number(); };
  if (!std::all_of(strides.begin(), strides.begin() + static_cast<ptrdiff_t>(rows), is_known)) return;
  std::vector<size_t> order(kernel.sizes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(rows), [&](size_t a, size_t b) {
    return strides[a].number != strides[b].number ? strides[a].number > strides[b].number : a < b;
  });
  // What is reduced: by the strides of what is written there, or else read.
  const std::vector<Extent> reduced =
      rows < order.size() ? leading_strides(kernel, rows) : std::vector<Extent>();
  if (!reduced.empty()) {
    std::sort(order.begin() + static_cast<ptrdiff_t>(rows), order.end(), [&](size_t a, size_t b) {
      return reduced[a].number != reduced[b].number ? reduced[a].number > reduced[b].number : a < b;
    });
  }
  permute(kernel, order);
}

// Whether a step of dimension d is as many steps of d + 1 as that one has.
bool continues(const Kernel& kernel, const Access& access, size_t d) {
  const Extent &outer = access.strides[d], &inner = access.strides[d + 1], &size = kernel.sizes[d + 1];
  if (outer.is(0) && inner.is(0)) return true;
  if (inner.is(1) && outer == size) return true;
  return outer.is_number() && inner.is_number() && size.is_number() &&
         outer.number == inner.number * size.number;
}

void join_neighbours(Kernel& kernel) {
  for (size_t d = kernel.sizes.size(); d-- > 1;) {
    const size_t outer = d - 1;
    if (outer + 1 == kernel.rows()) continue;  // between rows and what is reduced
    if (!kernel.sizes[outer].is_number() || !kernel.sizes[d].is_number()) continue;
    bool joins = true;
    for_each_named(kernel, [&](auto& dim) {
      joins = joins && static_cast<size_t>(dim) != outer && static_cast<size_t>(dim) != d;
    });
    for_each_access(kernel, [&](Access& access) { joins = joins && continues(kernel, access, outer); });
    if (!joins) continue;
    kernel.sizes[outer].number *= kernel.sizes[d].number;
    if (d >= kernel.rows()) --kernel.reduced;
    kernel.sizes.erase(kernel.sizes.begin() + static_cast<ptrdiff_t>(d));
    for_each_access(kernel, [&](Access& access) {
      access.strides.erase(access.strides.begin() + static_cast<ptrdiff_t>(outer));
    });
    for_each_named(kernel, [&](auto& dim) {
      if (static_cast<size_t>(dim) > d) --dim;
    });
  }
}

}  // namespace

void simplify(Kernel& kernel) {
  order_by_memory(kernel);
  join_neighbours(kernel);
}

}  // namespace stator::fused
