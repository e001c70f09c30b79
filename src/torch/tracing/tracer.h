// src/torch/tracing/tracer.h: the tensor that stands for a value known only when the graph runs.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/TensorImpl.h>

#include "torch/inference/tensor_meta.h"

namespace stator {

// Reserved in torch for code outside it; above autograd, autocast and functorch's wrappers.
inline constexpr c10::DispatchKey kTracerKey = c10::DispatchKey::DeferredInit;

// Has no storage: any access to memory raises a break. Recognised by its C++ type, not by its key.
class Tracer final : public c10::TensorImpl {
 public:
  // `value` names it in the session's graph; `memory` is equal for tracers that share memory.
  struct Identity {
    uint64_t session = 0;
    uint64_t memory = 0;
    uint32_t value = UINT32_MAX;
  };

  Tracer(const TensorMeta& meta, Identity identity, bool inference);

  const Identity& identity() const { return identity_; }
  void set_value(uint32_t value) { identity_.value = value; }
  bool leaf_with_gradient() const { return leaf_with_gradient_; }
  void set_leaf_with_gradient(bool does) { leaf_with_gradient_ = does; }
  void set_meta(const TensorMeta& meta);
  // From here on whoever asks for its sizes ends the capture: only a run has them.
  void forget_sizes();
  // Its sizes, strides and offset where one of them is symbolic, nullptr otherwise.
  const TensorMeta* symbolic_meta() const { return symbolic_ ? &symbolic_->meta : nullptr; }

  c10::intrusive_ptr<TensorImpl> shallow_copy_and_detach(const c10::VariableVersion& version,
                                                         bool allow_metadata_change) const override;
  c10::intrusive_ptr<TensorImpl> shallow_copy_and_detach(c10::VariableVersion&& version,
                                                         bool allow_metadata_change) const override;
  // Asked before any access to memory, and by nothing that a capture needs.
  bool has_storage() const override;
  void shallow_copy_from(const c10::intrusive_ptr<TensorImpl>& source) override;

 protected:
  // torch asks for this name only to build the message of an access error.
  const char* tensorimpl_type_name() const override;

  // Asked where a size, a stride or the offset is symbolic. Code that wants numbers gets those of the
  // capture, and guards keep them.
  c10::IntArrayRef sizes_custom() const override;
  c10::IntArrayRef strides_custom() const override;
  int64_t numel_custom() const override;
  int64_t storage_offset_custom() const override;
  int64_t dim_custom() const override;
  c10::SymIntArrayRef sym_sizes_custom() const override;
  c10::SymIntArrayRef sym_strides_custom() const override;
  c10::SymInt sym_numel_custom() const override;
  c10::SymInt sym_storage_offset_custom() const override;
  c10::SymBool sym_is_contiguous_custom(at::MemoryFormat format) const override;
  bool is_strides_like_custom(at::MemoryFormat format) const override;
  c10::SymBool sym_is_non_overlapping_and_dense_custom() const override;

 private:
  struct Symbolic {
    TensorMeta meta;
    c10::SmallVector<c10::SymInt, 5> sizes, strides;
  };
  void require_sizes() const;

  std::unique_ptr<Symbolic> symbolic_;
  bool unsized_ = false;
  Identity identity_;
  bool leaf_with_gradient_ = false;  // an argument that is a leaf, or one that was made one here
};

Tracer* as_tracer(const at::TensorBase& tensor);

// A tracer with the autograd state that eager would show: `requires_grad` with a history, or as a leaf.
at::Tensor make_tracer(const TensorMeta& meta, Tracer::Identity identity, bool requires_grad, bool leaf);

// One whose sizes, dtype and autograd state only a run has.
at::Tensor make_unsized_tracer(Tracer::Identity identity);

// The tracer of a view. torch's own view metadata ties it to `base`, so it follows later writes to the base;
// a detached one does not.
at::Tensor make_view_tracer(const TensorMeta& meta, Tracer::Identity identity, const at::Tensor& base,
                            bool requires_grad, bool detached);

// Gives a tensor a history: what an in-place operator with a gradient does to its result.
void attach_history(const at::Tensor& tensor);
// What detach_ does. Raises a break for views, as torch refuses those.
void drop_history(const at::Tensor& tensor);

c10::BackendComponent backend_of(c10::DeviceType device);

// Never zero, never given twice.
uint64_t new_memory();

// Whether something other than an operator changed its autograd state: requires_grad_(), a hook, a custom
// autograd function. Operators recorded from here on would not see that when they are replayed.
bool has_drifted(const at::Tensor& tensor, const Tracer& tracer);
// Whether that is no more than the flag of a leaf.
bool is_leaf_of_other_gradient(const at::Tensor& tensor, const Tracer& tracer);

TensorMeta meta_of(const at::TensorBase& tensor);

}  // namespace stator
