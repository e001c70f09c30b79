// src/torch/guards/tensor_guard.h: the metadata of a tensor that a capture relied on.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

#include "capture/domain.h"
#include "torch/inference/tensor_meta.h"

namespace stator {

// nullptr for tensors that cannot be guarded: subclasses with behaviour of their own, layouts that are not
// strided.
std::unique_ptr<TensorGuard> make_tensor_guard(PyObject* tensor);
// The same for a tensor whose metadata has symbols, which every call binds.
std::unique_ptr<TensorGuard> make_tensor_guard(PyObject* tensor, const TensorMeta& meta);

// The running capture asked where a tensor begins in its storage: its guards, those made before too, compare
// that.
void note_offset_read(const at::Tensor& tensor);
// A capture begins.
void forget_offset_reads();

// torch.Tensor, torch.nn.Parameter and Buffer-like classes without a __torch_function__ of their own.
bool is_plain_tensor_type(PyTypeObject* type);

}  // namespace stator
