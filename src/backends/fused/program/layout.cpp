// src/backends/fused/program/layout.cpp: comparing, allocating and viewing by sizes and strides.
#include "backends/fused/program/layout.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/empty_strided.h>

#include <stdexcept>

namespace stator::fused {

Amounts::Amounts(const shape::Context& shapes, std::span<const shape::Dim> dims) {
  for (shape::Dim dim : dims) {
    if (dim.is_expr()) {
      computed_.push_back(numbers_.size());
      code_.add(shapes, dim.expr());
    }
    numbers_.push_back(dim.is_expr() ? 0 : dim.number());
  }
}

c10::IntArrayRef Amounts::in(const shape::Bindings& bindings, c10::SmallVector<int64_t, 8>& space) const {
  if (computed_.empty()) return numbers_;
  space.assign(numbers_.begin(), numbers_.end());
  for (size_t i = 0; i < computed_.size(); ++i) {
    const auto number = code_.evaluate(i, bindings.ints);
    if (!number) throw std::runtime_error("stator: a size divides by zero");  // a guard excludes it
    space[computed_[i]] = *number;
  }
  return space;
}

Layout::Layout(const ir::Graph& graph, ir::ValueId value)
    : sizes_(graph.shapes(), graph.sizes(value)),
      strides_(graph.shapes(), graph.strides(value)),
      dtype_(static_cast<c10::ScalarType>(graph.value(value).dtype)) {
  const ir::Device device = graph.value(value).device;
  if (device.type == ir::DeviceType::kCuda)
    device_ = c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(device.index));
}

bool Layout::fits(const at::Tensor& tensor, const shape::Bindings& bindings) const {
  c10::SmallVector<int64_t, 8> sizes, strides;
  const c10::IntArrayRef wanted_sizes = sizes_.in(bindings, sizes),
                         wanted_strides = strides_.in(bindings, strides);
  const c10::IntArrayRef real_sizes = tensor.sizes(), real_strides = tensor.strides();
  if (tensor.scalar_type() != dtype_ || !real_sizes.equals(wanted_sizes)) return false;
  if (tensor._is_zerotensor()) return false;  // it has no memory
  for (size_t d = 0; d < real_sizes.size(); ++d) {
    if (real_strides[d] != wanted_strides[d] && real_sizes[d] != 1) return false;
  }
  return true;
}

at::Tensor Layout::allocate(const shape::Bindings& bindings) const {
  c10::SmallVector<int64_t, 8> sizes, strides;
  const c10::IntArrayRef wanted_sizes = sizes_.in(bindings, sizes);
  const c10::IntArrayRef wanted_strides = strides_.in(bindings, strides);
  if (device_.is_cpu())
    return at::Tensor(at::detail::empty_strided_cpu(wanted_sizes, wanted_strides, dtype_));
  const at::AutoDispatchBelowADInplaceOrView below;
  return at::empty_strided(wanted_sizes, wanted_strides, at::TensorOptions(device_).dtype(dtype_));
}

at::Tensor Layout::arranged(const at::Tensor& tensor, const shape::Bindings& bindings) const {
  return fits(tensor, bindings) ? tensor : copied(tensor, bindings);
}

at::Tensor Layout::copied(const at::Tensor& tensor, const shape::Bindings& bindings) const {
  c10::SmallVector<int64_t, 8> sizes;
  if (tensor.scalar_type() != dtype_ || !tensor.sizes().equals(sizes_.in(bindings, sizes)))
    throw std::runtime_error("stator: a value is of another size or type than when it was captured");
  at::Tensor copy = allocate(bindings);
  copy.copy_(tensor.detach());
  return copy;
}

at::Tensor Layout::view(const at::Tensor& root, int64_t offset, const shape::Bindings& bindings) const {
  c10::SmallVector<int64_t, 8> sizes, strides;
  at::Tensor made = at::detail::make_tensor<c10::TensorImpl>(
      c10::TensorImpl::VIEW, c10::Storage(root.storage()), root.key_set(), root.dtype());
  made.unsafeGetTensorImpl()->set_sizes_and_strides(
      sizes_.in(bindings, sizes), strides_.in(bindings, strides), root.storage_offset() + offset);
  return made;
}

}  // namespace stator::fused
