// src/torch/domain/tensor_guard.h: the metadata of a tensor that a capture relied on.
#pragma once

#include <memory>

#include "capture/domain.h"
#include "torch/tensor_meta.h"

namespace stator {

// nullptr for tensors that cannot be guarded: subclasses with behaviour of their own, layouts that are not
// strided.
std::unique_ptr<TensorGuard> make_tensor_guard(PyObject* tensor);
// The same for a tensor whose metadata has symbols, which every call binds.
std::unique_ptr<TensorGuard> make_tensor_guard(PyObject* tensor, const TensorMeta& meta);

// torch.Tensor, torch.nn.Parameter and Buffer-like classes without a __torch_function__ of their own.
bool is_plain_tensor_type(PyTypeObject* type);

}  // namespace stator
