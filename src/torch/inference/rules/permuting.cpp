// src/torch/inference/rules/permuting.cpp: views with the dimensions in another order.
#include "torch/inference/rules/families.h"
#include "torch/inference/rules/views.h"

namespace stator {

namespace {

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

constexpr RuleEntry kRules[] = {
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
};

}  // namespace

RuleTable permuting_rules() { return kRules; }

}  // namespace stator
