// src/torch/inference/rules/layout.cpp: strides as torch computes them.
#include "torch/inference/rules/layout.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace stator {

Sizes contiguous_strides(const Sizes& sizes) {
  Sizes strides(sizes.size());
  Size next = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = next;
    next *= max(sizes[i], Size(1));
  }
  return strides;
}

// A size of 0 makes strides of 0 here, where a contiguous layout counts it as 1.
Sizes channels_last_strides(const Sizes& sizes) {
  Sizes strides(sizes.size());
  const size_t rank = sizes.size();
  Size next = 1;
  strides[1] = next;
  next *= sizes[1];
  for (size_t i = rank; i-- > 2;) {
    strides[i] = next;
    next *= sizes[i];
  }
  strides[0] = next;
  return strides;
}

Sizes strides_for(const Sizes& sizes, c10::MemoryFormat format) {
  const bool last = (format == c10::MemoryFormat::ChannelsLast && sizes.size() == 4) ||
                    (format == c10::MemoryFormat::ChannelsLast3d && sizes.size() == 5);
  return last ? channels_last_strides(sizes) : contiguous_strides(sizes);
}

bool is_contiguous(const TensorMeta& meta) {
  if (numel(meta) == 0) return true;
  Size next = 1;
  for (size_t i = meta.sizes.size(); i-- > 0;) {
    if (meta.sizes[i] == 1) continue;
    if (!(meta.strides[i] == next)) return false;
    next *= meta.sizes[i];
  }
  return true;
}

bool is_channels_last(const TensorMeta& meta) {
  const size_t rank = meta.sizes.size();
  if (rank != 4 && rank != 5) return false;
  Size next = 1;
  const auto matches = [&](size_t i) {
    if (meta.sizes[i] == 1) return true;
    if (!(meta.strides[i] == next)) return false;
    next *= meta.sizes[i];
    return true;
  };
  if (!matches(1)) return false;
  for (size_t i = rank; i-- > 2;) {
    if (!matches(i)) return false;
  }
  return matches(0);
}

bool is_dense(const TensorMeta& meta) {
  const size_t rank = meta.sizes.size();
  if (rank == 1) return meta.sizes[0] < 2 || meta.strides[0] == 1;
  if (numel(meta) == 0) return true;
  std::vector<size_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (meta.sizes[a] < 2) return false;
    if (meta.sizes[b] < 2) return true;
    return meta.strides[a] < meta.strides[b];
  });
  Size next = 1;
  for (size_t i : order) {
    if (meta.sizes[i] < 2) return true;
    if (!(meta.strides[i] == next)) return false;
    next *= meta.sizes[i];
  }
  return true;
}

namespace {

// Strides that look like channels last, also of tensors that are not dense.
bool strides_like_channels_last(const TensorMeta& meta) {
  const size_t rank = meta.sizes.size();
  if (rank != 4 && rank != 5) return false;
  Size minimum = 0;
  if (meta.strides[1] == 0) return false;
  c10::SmallVector<size_t, 5> order{1};
  for (size_t i = rank; i-- > 2;) order.push_back(i);
  order.push_back(0);
  for (size_t d : order) {
    if (meta.sizes[d] == 0) return false;
    if (meta.strides[d] < minimum) return false;
    // N111 is contiguous by default, and so is a tensor whose batch and channel strides are equal.
    if (d == 0 && minimum == meta.strides[1]) return false;
    minimum = meta.strides[d];
    if (meta.sizes[d] > 1) minimum *= meta.sizes[d];
  }
  return true;
}

template <class ShouldSwap>
std::vector<size_t> sorted_dims(size_t rank, ShouldSwap&& should_swap) {
  std::vector<size_t> order(rank);
  std::iota(order.rbegin(), order.rend(), 0);
  for (size_t i = 1; i < rank; ++i) {
    size_t moving = i;
    for (size_t other = i; other-- > 0;) {
      const int comparison = should_swap(order[other], order[moving]);
      if (comparison > 0) {
        std::swap(order[other], order[moving]);
        moving = other;
      } else if (comparison < 0) {
        break;
      }
    }
  }
  return order;
}

int compare_strides(const Size& stride0, const Size& stride1, const Size& size0, const Size& size1) {
  if (stride0 == 0 || stride1 == 0) return 0;
  if (stride0 < stride1) return -1;
  if (stride1 < stride0) return 1;
  return size1 < size0 ? 1 : 0;
}

}  // namespace

c10::MemoryFormat suggested_format(const TensorMeta& meta) {
  if (!strides_like_channels_last(meta)) return c10::MemoryFormat::Contiguous;
  return meta.dim() == 4 ? c10::MemoryFormat::ChannelsLast : c10::MemoryFormat::ChannelsLast3d;
}

c10::MemoryFormat joined_format(std::span<const TensorMeta> parts) {
  auto format = c10::MemoryFormat::Contiguous;
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto own = suggested_format(parts[i]);
    if (own == c10::MemoryFormat::Contiguous || (i > 0 && own != format))
      return c10::MemoryFormat::Contiguous;
    format = own;
  }
  return format;
}

Sizes preserved_strides(const TensorMeta& meta) {
  if (is_dense(meta)) return meta.strides;
  const size_t rank = meta.sizes.size();
  const auto order = sorted_dims(rank, [&](size_t a, size_t b) {
    return compare_strides(meta.strides[a], meta.strides[b], meta.sizes[a], meta.sizes[b]);
  });
  Sizes strides(rank);
  Size next = 1;
  for (size_t i : order) {
    strides[i] = next;
    if (meta.sizes[i] > 1) next *= meta.sizes[i];
  }
  return strides;
}

Sizes strides_like(const TensorMeta& meta, c10::MemoryFormat format) {
  return format == c10::MemoryFormat::Preserve ? preserved_strides(meta) : strides_for(meta.sizes, format);
}

Size product(std::span<const Size> sizes) {
  Size result = 1;
  for (const Size& s : sizes) result *= s;
  return result;
}

bool wrap_dim(int64_t& dim, int64_t rank) {
  const int64_t count = std::max<int64_t>(rank, 1);
  if (dim < -count || dim >= count) return false;
  if (dim < 0) dim += count;
  return true;
}

bool spread(Sizes& values, int64_t dims) {
  if (values.size() == 1) values.assign(dims, values[0]);
  return static_cast<int64_t>(values.size()) == dims;
}

bool broadcast(Sizes& into, const Sizes& other) {
  if (other.size() > into.size()) {
    const Sizes own = into;
    into = other;
    return broadcast(into, own);
  }
  const size_t extra = into.size() - other.size();
  for (size_t i = 0; i < other.size(); ++i) {
    if (other[i] == 1) continue;
    if (into[extra + i] == 1) {
      into[extra + i] = other[i];
    } else if (!(into[extra + i] == other[i])) {
      return false;
    }
  }
  return true;
}

Sizes iterated_strides(const Sizes& sizes, std::span<const TensorMeta* const> operands) {
  const size_t rank = sizes.size();
  bool same_shape = true, contiguous = true, last = true, dense = true, same_strides = true;
  for (const TensorMeta* operand : operands) {
    if (operand->sizes.size() != rank || !std::equal(sizes.begin(), sizes.end(), operand->sizes.begin())) {
      same_shape = false;
      break;
    }
    contiguous = contiguous && is_contiguous(*operand);
    last = last && rank == 4 && is_channels_last(*operand);
    dense = dense && is_dense(*operand);
    same_strides = same_strides &&
                   std::equal(operand->strides.begin(), operand->strides.end(), operands[0]->strides.begin());
  }
  if (same_shape) {
    if (contiguous) return contiguous_strides(sizes);
    if (last) return channels_last_strides(sizes);
    if (dense && same_strides) return operands[0]->strides;
  }
  // A dimension that an operand broadcasts has stride 0 there.
  const auto stride_of = [&](const TensorMeta& operand, size_t dim) -> Size {
    const size_t missing = rank - operand.sizes.size();
    if (dim < missing) return 0;
    const size_t own = dim - missing;
    if (operand.sizes[own] == 1 && !(sizes[dim] == 1)) return 0;
    return operand.strides[own];
  };
  const auto order = sorted_dims(rank, [&](size_t a, size_t b) {
    for (const TensorMeta* operand : operands) {
      const int comparison =
          compare_strides(stride_of(*operand, a), stride_of(*operand, b), sizes[a], sizes[b]);
      if (comparison != 0) return comparison;
    }
    return 0;
  });
  bool inverted = true;
  for (size_t i = 0; i < rank; ++i) inverted = inverted && order[i] == rank - i - 1;
  if (inverted) return contiguous_strides(sizes);
  Sizes strides(rank);
  Size next = 1;
  for (size_t i : order) {
    strides[i] = next;
    next *= sizes[i];
  }
  return strides;
}

TensorMeta fresh_meta(const Sizes& sizes, c10::ScalarType dtype, c10::Device device) {
  TensorMeta meta;
  meta.sizes = sizes;
  meta.strides = contiguous_strides(sizes);
  meta.dtype = dtype;
  meta.device = device;
  return meta;
}

TensorMeta fresh_like(const TensorMeta& like, Sizes sizes, Sizes strides) {
  TensorMeta meta;
  meta.sizes = std::move(sizes);
  meta.strides = std::move(strides);
  meta.dtype = like.dtype;
  meta.device = like.device;
  return meta;
}

TensorMeta view_of(const TensorMeta& base, Sizes sizes, Sizes strides, Size offset) {
  TensorMeta meta = base;
  meta.wrapped_number = false;
  meta.sizes = std::move(sizes);
  meta.strides = std::move(strides);
  meta.offset = offset;
  return meta;
}

}  // namespace stator
