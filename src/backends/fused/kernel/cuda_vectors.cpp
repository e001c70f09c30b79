// src/backends/fused/kernel/cuda_vectors.cpp: the widest vectors that all stores allow.
#include "backends/fused/kernel/cuda_vectors.h"

#include <algorithm>

#include "backends/fused/kernel/scalar_text.h"
#include "backends/fused/kernel/stages.h"

namespace stator::fused {
namespace {

constexpr int64_t kWidest = 8;
constexpr int64_t kMaxBytes = 32;  // two instructions

bool is_contiguous(const Kernel& kernel, const Access& access) {
  return is_whole(kernel, access) && access.strides.back().is(1);
}

bool fits(const Kernel& kernel, const Access& access, int64_t width) {
  if (!is_contiguous(kernel, access)) return false;
  const size_t last = kernel.sizes.size() - 1;
  for (size_t d = 0; d < last; ++d) {
    if (!access.strides[d].is_number() || access.strides[d].number % width != 0) return false;
  }
  if (access.start < 0 || access.start % width != 0) return false;
  return std::ranges::all_of(access.ranges, [&](const Range& range) {
    const bool is_last = range.dim == static_cast<int32_t>(last);
    return !is_last || (range.low % width == 0 && range.high % width == 0);
  });
}

}  // namespace

Vectors::Vectors(const Kernel& kernel) : loads(kernel.loads.size()), stores(kernel.stores.size()) {
  if (kernel.sizes.empty() || !kernel.sizes.back().is_number()) return;
  int64_t smallest = 16, largest = 1;
  const auto look = [&](const Access& access) {
    if (!is_contiguous(kernel, access)) return;
    const auto size = static_cast<int64_t>(element_size(access.dtype));
    smallest = std::min(smallest, size);
    largest = std::max(largest, size);
  };
  for (const Access& load : kernel.loads) look(load);
  for (const Store& store : kernel.stores) look(store.access);
  int64_t wide = std::min({kWidest, 16 / smallest, kMaxBytes / largest});
  const auto suits = [&] {
    if (kernel.sizes.back().number % wide != 0) return false;
    return std::ranges::all_of(kernel.stores, [&](const Store& store) {
      return !is_whole(kernel, store.access) || fits(kernel, store.access, wide);
    });
  };
  while (wide > 1 && !suits()) wide /= 2;
  if (wide <= 1) return;
  width = static_cast<int>(wide);
  for (size_t i = 0; i < loads.size(); ++i) loads[i] = fits(kernel, kernel.loads[i], wide) ? 1 : 0;
  for (size_t i = 0; i < stores.size(); ++i) stores[i] = fits(kernel, kernel.stores[i].access, wide) ? 1 : 0;
}

}  // namespace stator::fused
