// src/torch/inference/rules/layout.h: the arithmetic of sizes and strides that rules share.
#pragma once

#include <span>

#include "torch/inference/rules/rule.h"

namespace stator {

Sizes contiguous_strides(const Sizes& sizes);
// Precondition: rank 4, rank 5.
Sizes channels_last_strides(const Sizes& sizes);
Sizes strides_for(const Sizes& sizes, c10::MemoryFormat format);

bool is_contiguous(const TensorMeta& meta);
bool is_channels_last(const TensorMeta& meta);  // rank 4 or 5, laid out so
bool is_dense(const TensorMeta& meta);          // non-overlapping and dense in torch's words
// What torch's suggest_memory_format says.
c10::MemoryFormat suggested_format(const TensorMeta& meta);

// The format of several tensors put together: the one that all of them have.
c10::MemoryFormat joined_format(std::span<const TensorMeta> parts);

// The strides of a dense tensor with the order of dimensions of this one: what empty_like makes.
Sizes preserved_strides(const TensorMeta& meta);
Sizes strides_like(const TensorMeta& meta, c10::MemoryFormat format);

Size product(std::span<const Size> sizes);
inline Size numel(const TensorMeta& meta) { return product(meta.sizes); }

// -1 counts from the back. False if out of range. A rank of 0 counts as 1.
bool wrap_dim(int64_t& dim, int64_t rank);

// One number serves all spatial dimensions. False if there are neither one nor as many.
bool spread(Sizes& values, int64_t dims);

// False where the sizes do not broadcast.
bool broadcast(Sizes& into, const Sizes& other);

// Strides of a new output as TensorIterator lays it out over these operands, all broadcast to `sizes`.
Sizes iterated_strides(const Sizes& sizes, std::span<const TensorMeta* const> operands);

TensorMeta fresh_meta(const Sizes& sizes, c10::ScalarType dtype, c10::Device device);
// A new tensor of the dtype and device of this one.
TensorMeta fresh_like(const TensorMeta& like, Sizes sizes, Sizes strides);
// A tensor on the memory of this one.
TensorMeta view_of(const TensorMeta& base, Sizes sizes, Sizes strides, Size offset);

}  // namespace stator
