// src/torch/inference/rules/views.h: what the families of views share, for them and for operators that view
// first.
#pragma once

#include "torch/inference/rules/layout.h"

namespace stator {

// Replaces a -1. False if the sizes do not fit the number of elements.
bool infer_size(Sizes& sizes, const Size& elements);

// The strides of a view with these sizes, or false if it needs a copy. Precondition: equal numbers of
// elements.
bool reshaped_strides(const TensorMeta& meta, const Sizes& sizes, Sizes& strides);

// Sizes and strides of an expand. False where torch refuses it.
bool expanded(const TensorMeta& meta, const Sizes& sizes, TensorMeta& result);

// Answers with a view of argument 0; in-place forms (`transpose_`, `unsqueeze_`, …) change the argument
// itself.
bool answer_view(const Call& call, Answer& answer, TensorMeta meta);

void drop_dim(TensorMeta& meta, int64_t dim);

}  // namespace stator
