// src/torch/inference/rules/views.cpp: what the families of views share.
#include "torch/inference/rules/views.h"

namespace stator {

bool infer_size(Sizes& sizes, const Size& elements) {
  Size known = 1;
  int64_t unknown = -1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == -1) {
      if (unknown >= 0) return false;
      unknown = static_cast<int64_t>(i);
    } else if (sizes[i] < 0) {
      return false;
    } else {
      known *= sizes[i];
    }
  }
  if (unknown < 0) return known == elements;
  if (known == 0) return false;
  if (!(elements % known == 0)) return false;
  sizes[unknown] = floordiv(elements, known);
  return true;
}

bool reshaped_strides(const TensorMeta& meta, const Sizes& sizes, Sizes& strides) {
  strides.assign(sizes.size(), Size(1));
  if (meta.sizes.empty()) return true;
  if (numel(meta) == 0) {
    if (meta.sizes.size() == sizes.size() && std::equal(sizes.begin(), sizes.end(), meta.sizes.begin())) {
      strides = meta.strides;
    } else {
      strides = contiguous_strides(sizes);
    }
    return true;
  }
  // Walks both shapes from the back, one chunk of dimensions that lie densely over one another at a time.
  int64_t view_dim = static_cast<int64_t>(sizes.size()) - 1;
  Size chunk_stride = meta.strides.back();
  Size tensor_elements = 1, view_elements = 1;
  for (int64_t dim = meta.dim() - 1; dim >= 0; --dim) {
    tensor_elements *= meta.sizes[dim];
    const bool ends_chunk = dim == 0 || (!(meta.sizes[dim - 1] == 1) &&
                                         !(meta.strides[dim - 1] == tensor_elements * chunk_stride));
    if (!ends_chunk) continue;
    while (view_dim >= 0 && (view_elements < tensor_elements || sizes[view_dim] == 1)) {
      strides[view_dim] = view_elements * chunk_stride;
      view_elements *= sizes[view_dim];
      --view_dim;
    }
    if (!(view_elements == tensor_elements)) return false;
    if (dim > 0) {
      chunk_stride = meta.strides[dim - 1];
      tensor_elements = 1;
      view_elements = 1;
    }
  }
  return view_dim == -1;
}

bool expanded(const TensorMeta& meta, const Sizes& wanted, TensorMeta& result) {
  if (wanted.size() < meta.sizes.size()) return false;
  Sizes sizes = wanted;
  Sizes strides(sizes.size());
  const size_t extra = sizes.size() - meta.sizes.size();
  for (size_t i = sizes.size(); i-- > 0;) {
    if (i < extra) {
      if (sizes[i] < 0) return false;
      if (meta.sizes.empty()) {
        strides[i] = 0;
        continue;
      }
      // A new dimension in front of dimension 0 has that dimension's extent as its stride, in torch.
      strides[i] = i + 1 < sizes.size() ? strides[i + 1] * sizes[i + 1] : Size(1);
      if (!(sizes[i] == 1)) strides[i] = 0;
      continue;
    }
    const Size& own = meta.sizes[i - extra];
    strides[i] = meta.strides[i - extra];
    if (sizes[i] == -1) sizes[i] = own;
    if (!(sizes[i] == own)) {
      if (!(own == 1)) return false;
      strides[i] = 0;
    }
  }
  result = view_of(meta, std::move(sizes), std::move(strides), meta.offset);
  return true;
}

bool answer_view(const Call& call, Answer& answer, TensorMeta meta) {
  if (call.written(0)) {
    answer.same(0, std::move(meta));
  } else {
    answer.view(0, std::move(meta));
  }
  return true;
}

void drop_dim(TensorMeta& meta, int64_t dim) {
  meta.sizes.erase(meta.sizes.begin() + dim);
  meta.strides.erase(meta.strides.begin() + dim);
}

}  // namespace stator
