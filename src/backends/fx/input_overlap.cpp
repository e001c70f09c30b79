// src/backends/fx/input_overlap.cpp: the pairs of inputs that overlap in memory.
#include "backends/fx/input_overlap.h"

#include <algorithm>
#include <span>
#include <unordered_set>
#include <utility>

#include "core/ir/effects.h"
#include "core/shape/context.h"

namespace stator::fx {
namespace {

// What a tensor of a subclass is made of has memory, itself it has none.
bool has_memory(const at::Tensor& tensor) {
  return !tensor.unsafeGetTensorImpl()->is_python_dispatch() && tensor.has_storage();
}

// One past the last element, in elements of the storage.
int64_t end_of(const at::Tensor& tensor) {
  int64_t end = tensor.storage_offset() + 1;
  const auto sizes = tensor.sizes(), strides = tensor.strides();
  for (size_t i = 0; i < sizes.size(); i++) end += (sizes[i] - 1) * strides[i];
  return end;
}

bool overlap(const at::Tensor& a, const at::Tensor& b) {
  const auto bytes = [](const at::Tensor& tensor, int64_t elements) {
    return elements * static_cast<int64_t>(tensor.itemsize());
  };
  return bytes(a, a.storage_offset()) < bytes(b, end_of(b)) &&
         bytes(b, b.storage_offset()) < bytes(a, end_of(a));
}

// Whether two indices may name one element. Strides that interleave without meeting are taken for such.
bool may_overlap_itself(std::span<const int64_t> sizes, std::span<const int64_t> strides) {
  std::vector<std::pair<int64_t, int64_t>> steps;
  for (size_t i = 0; i < sizes.size(); i++) {
    if (sizes[i] == 0) return false;
    if (sizes[i] != 1) steps.emplace_back(strides[i], sizes[i]);
  }
  std::ranges::sort(steps);
  int64_t reached = 0;  // by the dimensions of smaller strides
  for (const auto& [stride, size] : steps) {
    if (stride <= reached) return true;
    reached += (size - 1) * stride;
  }
  return false;
}

bool may_overlap_itself(const at::Tensor& tensor) {
  if (!has_memory(tensor) || tensor.layout() != at::kStrided || tensor.is_nested()) return false;
  return may_overlap_itself(tensor.sizes(), tensor.strides());
}

bool may_overlap_itself(const ir::Graph& graph, ir::ValueId id) {
  std::vector<int64_t> sizes, strides;
  for (const shape::Dim& dim : graph.sizes(id)) sizes.push_back(graph.shapes().hint(dim).value_or(2));
  for (const shape::Dim& dim : graph.strides(id)) strides.push_back(graph.shapes().hint(dim).value_or(0));
  return sizes.size() == strides.size() && may_overlap_itself(sizes, strides);
}

bool is_same_view(const at::Tensor& a, const at::Tensor& b) {
  return a.storage_offset() == b.storage_offset() && a.sizes() == b.sizes() && a.strides() == b.strides() &&
         a.dtype() == b.dtype();
}

}  // namespace

bool InputOverlap::any_partial() const {
  return any_overlaps_itself_ || std::ranges::any_of(pairs_, [](const Pair& pair) { return !pair.is_whole; });
}

InputOverlap::InputOverlap(const ir::Graph& graph, const std::vector<at::Tensor>& inputs) {
  const auto storage_of = [&](ir::ValueId id) {
    const ir::Value& value = graph.value(id);
    return value.storage == ir::ValueId::kNone ? index(id) : index(value.storage);
  };
  std::unordered_set<uint32_t> written;
  for (const ir::Node& node : graph.nodes()) {
    const ir::Effects effects = effects_of(graph, node);
    const auto operands = graph.operands(node);
    for (size_t i = 0; i < operands.size(); i++) {
      if (effects.writes_argument(i) || effects.unknown)
        graph.for_each_value(operands[i], [&](ir::ValueId id) {
          written.insert(storage_of(id));
          any_overlaps_itself_ |= may_overlap_itself(graph, id);
        });
    }
  }
  // Symbols of the graph are inputs too, in front of the tensors.
  std::vector<const at::Tensor*> tensors;
  for (const ir::Input& input : graph.inputs()) {
    if (graph.value(input.value).kind == ir::ValueKind::kTensor)
      written_.push_back(written.count(storage_of(input.value)) != 0);
  }
  for (const at::Tensor& input : inputs) tensors.push_back(&input);
  written_.resize(tensors.size());
  for (size_t i = 0; i < tensors.size(); i++)
    any_overlaps_itself_ |= written_[i] && may_overlap_itself(*tensors[i]);
  any_written_ = tensors.size() > 1 && std::ranges::find(written_, true) != written_.end();
  if (any_written_) pairs_ = pairs_of(tensors);
}

std::vector<InputOverlap::Pair> InputOverlap::pairs_of(const std::vector<const at::Tensor*>& inputs) const {
  std::vector<std::pair<const void*, size_t>> storages;
  storages.reserve(inputs.size());
  for (size_t i = 0; i < inputs.size(); i++) {
    if (has_memory(*inputs[i]) && inputs[i]->numel() != 0)
      storages.emplace_back(inputs[i]->storage().unsafeGetStorageImpl(), i);
  }
  std::ranges::sort(storages);
  std::vector<Pair> pairs;
  for (size_t i = 0; i < storages.size(); i++) {
    for (size_t j = i + 1; j < storages.size() && storages[j].first == storages[i].first; j++) {
      const size_t a = storages[i].second, b = storages[j].second;
      if ((written_[a] || written_[b]) && overlap(*inputs[a], *inputs[b]))
        pairs.push_back({a, b, inputs[a]->storage_offset(), inputs[b]->storage_offset(),
                         is_same_view(*inputs[a], *inputs[b])});
    }
  }
  std::ranges::sort(pairs, {}, [](const Pair& pair) { return std::pair(pair.first, pair.second); });
  return pairs;
}

}  // namespace stator::fx
