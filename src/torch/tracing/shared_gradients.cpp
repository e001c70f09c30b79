// torch/tracing/shared_gradients.cpp: finds memory that several gradients lie on.
#include "torch/tracing/shared_gradients.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/python_variable.h>

#include <algorithm>
#include <vector>

#include "torch/tracing/caught_error.h"

namespace stator {
namespace {

struct Extent {
  const char* begin;
  const char* end;
  const at::Tensor* tensor;
  Py_ssize_t place;
};

std::vector<Extent> extents_of(PyObject* gradients) {
  std::vector<Extent> extents;
  extents.reserve(static_cast<size_t>(PyTuple_GET_SIZE(gradients)));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(gradients); i++) {
    PyObject* const item = PyTuple_GET_ITEM(gradients, i);
    if (!THPVariable_CheckExact(item)) continue;
    const at::Tensor& tensor = THPVariable_Unpack(item);
    if (tensor.layout() != c10::kStrided || !tensor.has_storage() || tensor.numel() == 0) continue;
    const auto* const begin = static_cast<const char*>(tensor.const_data_ptr());
    if (begin == nullptr) continue;
    int64_t last = 0;
    for (int64_t d = 0; d < tensor.dim(); d++) last += (tensor.size(d) - 1) * tensor.stride(d);
    const auto bytes = (last + 1) * static_cast<int64_t>(tensor.element_size());
    extents.push_back({begin, begin + bytes, &tensor, i});
  }
  return extents;
}

}  // namespace

Ref<> without_shared_memory(PyObject* gradients) {
  if (!PyTuple_Check(gradients)) return Ref<>::share(gradients);
  try {
    std::vector<Extent> extents = extents_of(gradients);
    std::ranges::stable_sort(extents, {}, &Extent::begin);
    Ref<> separate;
    const Extent* furthest = nullptr;  // of those that keep their memory
    for (const Extent& extent : extents) {
      const bool overlaps = furthest != nullptr && extent.begin < furthest->end;
      if (overlaps && !extent.tensor->is_same(*furthest->tensor)) {
        if (!separate) separate = Ref<>::steal(PySequence_List(gradients));
        const at::NoGradGuard no_history;
        PyObject* const copy = separate ? THPVariable_Wrap(extent.tensor->clone()) : nullptr;
        if (copy == nullptr || PyList_SetItem(separate.get(), extent.place, copy) < 0) return {};
      } else if (furthest == nullptr || extent.end > furthest->end) {
        furthest = &extent;
      }
    }
    return separate ? Ref<>::steal(PyList_AsTuple(separate.get())) : Ref<>::share(gradients);
  } catch (const std::exception&) {
    raise_caught();
    return {};
  }
}

}  // namespace stator
