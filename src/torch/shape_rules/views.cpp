// src/torch/shape_rules/views.cpp: operators whose result lies on the memory of an argument.
#include "torch/shape_rules/views.h"

#include "torch/shape_rules/families.h"
#include "torch/shape_rules/pointwise.h"

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

namespace {

// In-place forms (`transpose_`, `unsqueeze_`, …) change the argument itself.
bool answer_view(const Call& call, Answer& answer, TensorMeta meta) {
  if (call.written(0)) {
    answer.same(0, std::move(meta));
  } else {
    answer.view(0, std::move(meta));
  }
  return true;
}

bool view(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  Sizes sizes = call.sizes(1), strides;
  if (!infer_size(sizes, numel(self)) || !reshaped_strides(self, sizes, strides)) return false;
  return answer_view(call, answer, view_of(self, sizes, strides, self.offset));
}

// Shares memory, but torch treats the result as a tensor of its own: its callers drop the argument.
bool unsafe_view(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  Sizes sizes = call.sizes(1), strides;
  if (!infer_size(sizes, numel(self)) || !reshaped_strides(self, sizes, strides)) return false;
  answer.fresh(view_of(self, sizes, strides, self.offset));
  return true;
}

bool reshape_to(const Call& call, Answer& answer, Sizes sizes) {
  const TensorMeta& self = call.tensor(0);
  Sizes strides;
  if (!infer_size(sizes, numel(self))) return false;
  if (reshaped_strides(self, sizes, strides)) {
    answer.view(0, view_of(self, sizes, strides, self.offset));
  } else {
    answer.fresh(fresh_meta(sizes, self.dtype, self.device));
  }
  return true;
}

bool reshape(const Call& call, Answer& answer) { return reshape_to(call, answer, call.sizes(1)); }

bool reshape_as(const Call& call, Answer& answer) { return reshape_to(call, answer, call.tensor(1).sizes); }

bool view_as(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  Sizes sizes = call.tensor(1).sizes, strides;
  if (!infer_size(sizes, numel(self)) || !reshaped_strides(self, sizes, strides)) return false;
  return answer_view(call, answer, view_of(self, sizes, strides, self.offset));
}

bool flatten(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  int64_t start = call.integer(1), end = call.integer(2);
  if (!wrap_dim(start, self.dim()) || !wrap_dim(end, self.dim()) || start > end) return false;
  if (self.dim() == 0) return reshape_to(call, answer, {Size(1)});
  if (start == end) return answer.same(0, self), true;
  Sizes sizes(self.sizes.begin(), self.sizes.begin() + start);
  Size together = 1;
  for (int64_t i = start; i <= end; ++i) together *= self.sizes[i];
  sizes.push_back(together);
  sizes.append(self.sizes.begin() + end + 1, self.sizes.end());
  return reshape_to(call, answer, sizes);
}

bool unflatten(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  int64_t dim = call.integer(1);
  if (!wrap_dim(dim, self.dim()) || self.dim() == 0) return false;
  Sizes parts = call.sizes(2);
  if (!infer_size(parts, self.sizes[dim])) return false;
  Sizes sizes(self.sizes.begin(), self.sizes.begin() + dim), strides;
  sizes.append(parts.begin(), parts.end());
  sizes.append(self.sizes.begin() + dim + 1, self.sizes.end());
  if (!reshaped_strides(self, sizes, strides)) return false;
  return answer_view(call, answer, view_of(self, sizes, strides, self.offset));
}

TensorMeta swapped(const TensorMeta& self, int64_t a, int64_t b) {
  TensorMeta meta = view_of(self, self.sizes, self.strides, self.offset);
  std::swap(meta.sizes[a], meta.sizes[b]);
  std::swap(meta.strides[a], meta.strides[b]);
  return meta;
}

bool transpose(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  int64_t a = call.integer(1), b = call.integer(2);
  if (!wrap_dim(a, self.dim()) || !wrap_dim(b, self.dim())) return false;
  if (self.dim() == 0) return answer_view(call, answer, self);
  return answer_view(call, answer, swapped(self, a, b));
}

bool t(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  if (self.dim() > 2) return false;
  return answer_view(call, answer, self.dim() < 2 ? self : swapped(self, 0, 1));
}

bool adjoint_like(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  if (self.dim() < 2) return false;
  return answer_view(call, answer, swapped(self, self.dim() - 2, self.dim() - 1));
}

bool numpy_t(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  if (self.dim() != 2) return false;
  return answer_view(call, answer, swapped(self, 0, 1));
}

bool answer_permuted(const Call& call, Answer& answer, std::span<const int64_t> order) {
  const TensorMeta& self = call.tensor(0);
  Sizes sizes, strides;
  for (int64_t i : order) {
    sizes.push_back(self.sizes[i]);
    strides.push_back(self.strides[i]);
  }
  return answer_view(call, answer, view_of(self, std::move(sizes), std::move(strides), self.offset));
}

bool permute(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  const Sizes dims = call.sizes(1);
  if (static_cast<int64_t>(dims.size()) != self.dim()) return false;
  c10::SmallVector<int64_t, 5> order;
  uint64_t seen = 0;
  for (const Size& d : dims) {
    int64_t dim = d.specialize();
    if (!wrap_dim(dim, self.dim()) || (seen >> dim & 1)) return false;
    seen |= uint64_t{1} << dim;
    order.push_back(dim);
  }
  return answer_permuted(call, answer, {order.data(), order.size()});
}

bool movedim(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  const Sizes sources = call.sizes(1), targets = call.sizes(2);
  const int64_t rank = self.dim();
  if (sources.size() != targets.size()) return false;
  if (rank == 0) return answer.view(0, self), true;
  std::vector<int64_t> order(rank, -1);
  std::vector<bool> used(rank);
  for (size_t i = 0; i < sources.size(); ++i) {
    int64_t from = sources[i].specialize(), to = targets[i].specialize();
    if (!wrap_dim(from, rank) || !wrap_dim(to, rank) || used[from] || order[to] >= 0) return false;
    order[to] = from;
    used[from] = true;
  }
  int64_t next = 0;
  for (int64_t& dim : order) {
    if (dim >= 0) continue;
    while (used[next]) ++next;
    dim = next++;
  }
  return answer_permuted(call, answer, order);
}

bool expand(const Call& call, Answer& answer) {
  TensorMeta meta;
  return expanded(call.tensor(0), call.sizes(1), meta) && answer_view(call, answer, std::move(meta));
}

bool expand_as(const Call& call, Answer& answer) {
  TensorMeta meta;
  return expanded(call.tensor(0), call.tensor(1).sizes, meta) && answer_view(call, answer, std::move(meta));
}

bool slice(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  int64_t dim = call.integer(1);
  if (self.dim() == 0 || !wrap_dim(dim, self.dim())) return false;
  const Size length = self.sizes[dim];
  const Size step = call.size(4);
  if (!(step > 0)) return false;
  Size start = call.has(2) ? call.size(2) : Size(0);
  Size end = call.has(3) ? call.size(3) : length;
  if (start < 0) start += length;
  if (end < 0) end += length;
  if (start < 0) start = 0;
  if (start > length) start = length;
  if (end < start) end = start;
  if (end > length) end = length;
  TensorMeta meta = view_of(self, self.sizes, self.strides, self.offset + start * self.strides[dim]);
  meta.sizes[dim] = floordiv(end - start + step - 1, step);
  meta.strides[dim] *= step;
  return answer_view(call, answer, std::move(meta));
}

bool narrow(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  int64_t dim = call.integer(1);
  if (!call.tensors(2).empty() || self.dim() == 0 || !wrap_dim(dim, self.dim())) return false;
  Size start = call.size(2);
  const Size length = call.size(3), limit = self.sizes[dim];
  if (start < 0) start += limit;
  if (start < 0 || length < 0 || start + length > limit) return false;
  TensorMeta meta = view_of(self, self.sizes, self.strides, self.offset + start * self.strides[dim]);
  meta.sizes[dim] = length;
  return answer_view(call, answer, std::move(meta));
}

void drop_dim(TensorMeta& meta, int64_t dim) {
  meta.sizes.erase(meta.sizes.begin() + dim);
  meta.strides.erase(meta.strides.begin() + dim);
}

bool select(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  int64_t dim = call.integer(1);
  if (self.dim() == 0 || !wrap_dim(dim, self.dim())) return false;
  Size index = call.size(2);
  const Size length = self.sizes[dim];
  if (index < -length || index >= length) return false;
  if (index < 0) index += length;
  TensorMeta meta = view_of(self, self.sizes, self.strides, self.offset + index * self.strides[dim]);
  drop_dim(meta, dim);
  return answer_view(call, answer, std::move(meta));
}

bool unbind(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  int64_t dim = call.integer(1);
  if (self.dim() == 0 || !wrap_dim(dim, self.dim())) return false;
  const int64_t count = self.sizes[dim].specialize();
  for (int64_t i = 0; i < count; ++i) {
    TensorMeta meta = view_of(self, self.sizes, self.strides, self.offset + Size(i) * self.strides[dim]);
    drop_dim(meta, dim);
    answer.view(0, std::move(meta));
  }
  return true;
}

bool unsqueeze(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  int64_t dim = call.integer(1);
  if (!wrap_dim(dim, self.dim() + 1)) return false;
  TensorMeta meta = view_of(self, self.sizes, self.strides, self.offset);
  const Size stride = dim == self.dim() ? Size(1) : self.sizes[dim] * self.strides[dim];
  meta.sizes.insert(meta.sizes.begin() + dim, Size(1));
  meta.strides.insert(meta.strides.begin() + dim, stride);
  return answer_view(call, answer, std::move(meta));
}

bool answer_squeezed(const Call& call, Answer& answer, uint64_t dims) {
  const TensorMeta& self = call.tensor(0);
  Sizes sizes, strides;
  for (int64_t i = 0; i < self.dim(); ++i) {
    if ((dims >> i & 1) && self.sizes[i] == 1) continue;
    sizes.push_back(self.sizes[i]);
    strides.push_back(self.strides[i]);
  }
  return answer_view(call, answer, view_of(self, std::move(sizes), std::move(strides), self.offset));
}

bool squeeze(const Call& call, Answer& answer) { return answer_squeezed(call, answer, ~uint64_t{0}); }

bool squeeze_dims(const Call& call, Answer& answer) {
  uint64_t dims = 0;
  for (const Size& d : call.sizes(1)) {
    int64_t dim = d.specialize();
    if (!wrap_dim(dim, call.tensor(0).dim()) || (dims >> dim & 1)) return false;
    dims |= uint64_t{1} << dim;
  }
  return answer_squeezed(call, answer, dims);
}

// Parts along a dimension, one after the other.
bool answer_parts(const Call& call, Answer& answer, int64_t dim, std::span<const Size> lengths) {
  const TensorMeta& self = call.tensor(0);
  Size start = 0;
  for (const Size& length : lengths) {
    TensorMeta meta = view_of(self, self.sizes, self.strides, self.offset + start * self.strides[dim]);
    meta.sizes[dim] = length;
    answer.view(0, std::move(meta));
    start += length;
  }
  return true;
}

bool answer_split(const Call& call, Answer& answer, int64_t dim, const Size& part) {
  const TensorMeta& self = call.tensor(0);
  const Size length = self.sizes[dim];
  if (part < 0 || (part == 0 && !(length == 0))) return false;
  std::vector<Size> lengths;
  if (part == 0) {
    lengths.push_back(0);
  } else {
    const int64_t count = std::max<int64_t>(floordiv(length + part - 1, part).specialize(), 1);
    for (int64_t i = 0; i + 1 < count; ++i) lengths.push_back(part);
    lengths.push_back(length - part * Size(count - 1));
  }
  return answer_parts(call, answer, dim, lengths);
}

bool split(const Call& call, Answer& answer) {
  int64_t dim = call.integer(2);
  if (call.tensor(0).dim() == 0 || !wrap_dim(dim, call.tensor(0).dim())) return false;
  return answer_split(call, answer, dim, call.size(1));
}

bool split_with_sizes(const Call& call, Answer& answer) {
  int64_t dim = call.integer(2);
  if (call.tensor(0).dim() == 0 || !wrap_dim(dim, call.tensor(0).dim())) return false;
  const Sizes lengths = call.sizes(1);
  Size total = 0;
  for (const Size& length : lengths) {
    if (length < 0) return false;
    total += length;
  }
  if (!(total == call.tensor(0).sizes[dim])) return false;
  return answer_parts(call, answer, dim, lengths);
}

bool chunk(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  const int64_t chunks = call.integer(1);
  int64_t dim = call.integer(2);
  if (self.dim() == 0 || chunks <= 0 || !wrap_dim(dim, self.dim())) return false;
  const Size length = self.sizes[dim];
  const Size part = floordiv(length + chunks - 1, chunks);
  if (part == 0) {
    std::vector<Size> lengths(chunks, Size(0));
    return answer_parts(call, answer, dim, lengths);
  }
  return answer_split(call, answer, dim, part);
}

bool unfold(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  int64_t dim = call.integer(1);
  if (self.dim() == 0 || !wrap_dim(dim, self.dim())) return false;
  const Size window = call.size(2), step = call.size(3);
  if (window < 0 || window > self.sizes[dim] || !(step > 0)) return false;
  TensorMeta meta = view_of(self, self.sizes, self.strides, self.offset);
  meta.sizes.push_back(window);
  meta.strides.push_back(self.strides[dim]);
  meta.sizes[dim] = floordiv(self.sizes[dim] - window, step) + 1;
  meta.strides[dim] *= step;
  return answer_view(call, answer, std::move(meta));
}

bool as_strided(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  const Sizes sizes = call.sizes(1), strides = call.sizes(2);
  if (sizes.size() != strides.size()) return false;
  for (const Size& s : strides) {
    if (s < 0) return false;
  }
  return answer_view(call, answer, view_of(self, sizes, strides, call.has(3) ? call.size(3) : self.offset));
}

bool diagonal(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  const Size offset = call.size(1);
  int64_t a = call.integer(2), b = call.integer(3);
  if (!wrap_dim(a, self.dim()) || !wrap_dim(b, self.dim()) || a == b) return false;
  Size length =
      offset >= 0 ? min(self.sizes[a], self.sizes[b] - offset) : min(self.sizes[a] + offset, self.sizes[b]);
  length = max(length, Size(0));
  Size start = self.offset;
  if (!(length == 0)) start += offset >= 0 ? offset * self.strides[b] : -offset * self.strides[a];
  TensorMeta meta = view_of(self, self.sizes, self.strides, start);
  const Size stride = self.strides[a] + self.strides[b];
  drop_dim(meta, std::max(a, b));
  drop_dim(meta, std::min(a, b));
  meta.sizes.push_back(length);
  meta.strides.push_back(stride);
  return answer_view(call, answer, std::move(meta));
}

bool whole(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  return answer_view(call, answer, view_of(self, self.sizes, self.strides, self.offset));
}

bool view_as_real(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  if (!c10::isComplexType(self.dtype)) return false;
  TensorMeta meta = view_of(self, self.sizes, self.strides, self.offset * 2);
  for (Size& stride : meta.strides) stride *= 2;
  meta.sizes.push_back(2);
  meta.strides.push_back(1);
  meta.dtype = to_real(self.dtype);
  return answer_view(call, answer, std::move(meta));
}

bool view_as_complex(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  if (!c10::isFloatingType(self.dtype) || self.dim() == 0) return false;
  if (!(self.sizes.back() == 2) || !(self.strides.back() == 1) || !(self.offset % 2 == 0)) return false;
  TensorMeta meta = view_of(self, self.sizes, self.strides, floordiv(self.offset, Size(2)));
  drop_dim(meta, self.dim() - 1);
  for (Size& stride : meta.strides) {
    if (!(stride % 2 == 0)) return false;
    stride = floordiv(stride, Size(2));
  }
  meta.dtype = c10::toComplexType(self.dtype);
  return answer_view(call, answer, std::move(meta));
}

constexpr RuleEntry kRules[] = {
    {"aten::view", view},
    {"aten::_unsafe_view", unsafe_view},
    {"aten::reshape", reshape},
    {"aten::reshape_as", reshape_as},
    {"aten::view_as", view_as},
    {"aten::flatten.using_ints", flatten},
    {"aten::unflatten.int", unflatten},
    {"aten::transpose.int", transpose},
    {"aten::transpose_", transpose},
    {"aten::swapaxes", transpose},
    {"aten::swapdims", transpose},
    {"aten::t", t},
    {"aten::t_", t},
    {"aten::mT", adjoint_like},
    {"aten::numpy_T", numpy_t},
    {"aten::permute", permute},
    {"aten::movedim.int", movedim},
    {"aten::movedim.intlist", movedim},
    {"aten::moveaxis.int", movedim},
    {"aten::moveaxis.intlist", movedim},
    {"aten::expand", expand},
    {"aten::expand_as", expand_as},
    {"aten::slice.Tensor", slice},
    {"aten::narrow", narrow},
    {"aten::select.int", select},
    {"aten::unbind.int", unbind},
    {"aten::unsqueeze", unsqueeze},
    {"aten::unsqueeze_", unsqueeze},
    {"aten::squeeze", squeeze},
    {"aten::squeeze_", squeeze},
    {"aten::squeeze.dim", squeeze_dims},
    {"aten::squeeze_.dim", squeeze_dims},
    {"aten::squeeze.dims", squeeze_dims},
    {"aten::split.Tensor", split},
    {"aten::split.sizes", split_with_sizes},
    {"aten::split_with_sizes", split_with_sizes},
    {"aten::chunk", chunk},
    {"aten::unfold", unfold},
    {"aten::as_strided", as_strided},
    {"aten::as_strided_", as_strided},
    {"aten::diagonal", diagonal},
    {"aten::alias", whole},
    {"aten::detach", whole},
    {"aten::detach_", whole},
    {"aten::view_as_real", view_as_real},
    {"aten::view_as_complex", view_as_complex},
};

}  // namespace

RuleTable view_rules() { return kRules; }

}  // namespace stator
