// src/torch/tracing/tracer.cpp: tracers, their autograd state and the metadata of tensors.
#include "torch/tracing/tracer.h"

#include <c10/core/InferenceMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/VariableTypeUtils.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/tensor.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <atomic>
#include <typeinfo>

#include "torch/inference/rules/layout.h"
#include "torch/symbols/sym_node.h"
#include "torch/tracing/capture_break.h"
#include "torch/tracing/session.h"

namespace stator {

namespace autograd = torch::autograd;

namespace {

c10::DispatchKeySet tracer_keys(const TensorMeta& meta, bool inference) {
  const auto backend = backend_of(meta.device.type());
  c10::DispatchKeySet keys(kTracerKey);
  keys = keys | c10::DispatchKeySet(c10::DispatchKey::Dense) | c10::DispatchKeySet(backend);
  if (!inference) {
    keys = keys | c10::DispatchKeySet(c10::DispatchKey::AutogradFunctionality) |
           c10::DispatchKeySet(c10::DispatchKey::ADInplaceOrView);
  }
  if (meta.conj) keys = keys.add(c10::DispatchKey::Conjugate);
  if (meta.neg) keys = keys.add(c10::DispatchKey::Negative);
  // Autocast is found through the thread's keys, as for any tensor.
  return keys | c10::getAutocastRelatedKeySetFromBackend(backend);
}

// The history of every tracer that has one. Only its presence is ever looked at.
struct TracedHistory : autograd::Node {
  autograd::variable_list apply(autograd::variable_list&&) override {
    raise_break(BreakCode::kBackward, "backward through tensors that are being captured");
  }
  std::string name() const override { return "TracedBackward"; }
};

// Nodes are held by std::shared_ptr up to torch 2.12 and by c10::intrusive_ptr from 2.13 on.
template <class Pointer>
Pointer make_node() {
  if constexpr (requires(Pointer p) { p.reset(new TracedHistory()); }) {
    return std::make_shared<TracedHistory>();
  } else {
    return c10::make_intrusive<TracedHistory>();
  }
}

autograd::Edge new_history(const at::Tensor& tensor) {
  auto node = make_node<decltype(autograd::Edge::function)>();
  const auto index = node->add_input_metadata(tensor);
  return {std::move(node), index};
}

}  // namespace

Tracer::Tracer(const TensorMeta& meta, Identity identity, bool inference)
    : TensorImpl(tracer_keys(meta, inference), c10::scalarTypeToTypeMeta(meta.dtype), meta.device),
      identity_(identity) {
  set_meta(meta);
  set_storage_access_should_throw();
  if (inference) version_counter_ = c10::VariableVersion(c10::VariableVersion::DISABLED);
}

void Tracer::set_meta(const TensorMeta& meta) {
  const auto is_symbolic = [](const Size& s) { return s.is_symbolic(); };
  const bool symbolic = std::ranges::any_of(meta.sizes, is_symbolic) ||
                        std::ranges::any_of(meta.strides, is_symbolic) || meta.offset.is_symbolic();
  c10::SmallVector<int64_t, 5> sizes, strides;
  for (const Size& s : meta.sizes) sizes.push_back(s.hint());
  for (const Size& s : meta.strides) strides.push_back(s.hint());
  set_custom_sizes_strides(SizesStridesPolicy::Default);
  set_sizes_and_strides(sizes, strides, meta.offset.hint());
  symbolic_.reset();
  if (symbolic) {
    symbolic_ = std::make_unique<Symbolic>();
    symbolic_->meta = meta;
    for (const Size& s : meta.sizes) symbolic_->sizes.push_back(to_sym_int(s));
    for (const Size& s : meta.strides) symbolic_->strides.push_back(to_sym_int(s));
    set_custom_sizes_strides(SizesStridesPolicy::CustomSizes);
  }
  data_type_ = c10::scalarTypeToTypeMeta(meta.dtype);
  if (meta.wrapped_number) set_wrapped_number(true);
}

void Tracer::forget_sizes() {
  unsized_ = true;
  set_custom_sizes_strides(SizesStridesPolicy::CustomSizes);
}

void Tracer::require_sizes() const {
  if (unsized_)
    raise_break(BreakCode::kDataDependentOperator,
                "the size of a result that depends on values is asked for");
}

// The numbers of the capture are those that TensorImpl itself holds.
c10::IntArrayRef Tracer::sizes_custom() const {
  require_sizes();
  for (const Size& s : symbolic_->meta.sizes) s.specialize();
  return sizes_default();
}

c10::IntArrayRef Tracer::strides_custom() const {
  require_sizes();
  for (const Size& s : symbolic_->meta.strides) s.specialize();
  return strides_default();
}

int64_t Tracer::numel_custom() const {
  require_sizes();
  Size count = 1;
  for (const Size& s : symbolic_->meta.sizes) count *= s;
  return count.specialize();
}

int64_t Tracer::storage_offset_custom() const {
  require_sizes();
  return symbolic_->meta.offset.specialize();
}
int64_t Tracer::dim_custom() const {
  require_sizes();
  return symbolic_->meta.dim();
}
c10::SymIntArrayRef Tracer::sym_sizes_custom() const {
  require_sizes();
  return symbolic_->sizes;
}
c10::SymIntArrayRef Tracer::sym_strides_custom() const {
  require_sizes();
  return symbolic_->strides;
}

c10::SymInt Tracer::sym_numel_custom() const {
  require_sizes();
  Size count = 1;
  for (const Size& s : symbolic_->meta.sizes) count *= s;
  return to_sym_int(count);
}

c10::SymInt Tracer::sym_storage_offset_custom() const {
  require_sizes();
  return to_sym_int(symbolic_->meta.offset);
}

c10::SymBool Tracer::sym_is_contiguous_custom(at::MemoryFormat format) const {
  require_sizes();
  const TensorMeta& meta = symbolic_->meta;
  if (format == at::MemoryFormat::Contiguous) return stator::is_contiguous(meta);
  return meta.dim() == (format == at::MemoryFormat::ChannelsLast ? 4 : 5) && is_channels_last(meta);
}

bool Tracer::is_strides_like_custom(at::MemoryFormat format) const {
  require_sizes();
  return suggested_format(symbolic_->meta) == format;
}

c10::SymBool Tracer::sym_is_non_overlapping_and_dense_custom() const {
  require_sizes();
  return is_dense(symbolic_->meta);
}

c10::intrusive_ptr<c10::TensorImpl> Tracer::shallow_copy_and_detach(const c10::VariableVersion& version,
                                                                    bool allow_metadata_change) const {
  return shallow_copy_and_detach(c10::VariableVersion(version), allow_metadata_change);
}

// `.data` ends here, past the dispatcher.
c10::intrusive_ptr<c10::TensorImpl> Tracer::shallow_copy_and_detach(c10::VariableVersion&& version,
                                                                    bool allow_metadata_change) const {
  Session* session = Session::current();
  if (!session || session->id() != identity_.session) {
    raise_break(BreakCode::kThread, "a tensor of another capture was copied");
  }
  const TensorMeta meta =
      meta_of(at::Tensor(c10::intrusive_ptr<TensorImpl>::reclaim_copy(const_cast<Tracer*>(this))));
  auto* self = const_cast<Tracer*>(this);
  Identity identity = identity_;
  identity.value = session->record_data(identity_.value, meta);
  auto copy = c10::make_intrusive<Tracer>(meta, identity, self->is_inference());
  if (!self->is_inference()) copy->set_version_counter(std::move(version));
  copy->set_allow_tensor_metadata_change(allow_metadata_change);
  return copy;
}

void Tracer::shallow_copy_from(const c10::intrusive_ptr<TensorImpl>&) {
  raise_break(BreakCode::kStorageChange, "assignment to `.data` of a tensor that is being captured");
}

bool Tracer::has_storage() const {
  raise_break(BreakCode::kReadsMemory, "the memory of a tensor that is being captured was asked for");
}

const char* Tracer::tensorimpl_type_name() const {
  raise_break(BreakCode::kReadsMemory, "the memory of a tensor that is being captured was asked for");
}

Tracer* as_tracer(const at::TensorBase& tensor) {
  auto* impl = tensor.unsafeGetTensorImpl();
  if (!impl->key_set().has(kTracerKey)) return nullptr;
  return typeid(*impl) == typeid(Tracer) ? static_cast<Tracer*>(impl) : nullptr;
}

at::Tensor make_tracer(const TensorMeta& meta, Tracer::Identity identity, bool requires_grad, bool leaf) {
  // A tracer has no quantizer: it would not answer `is_quantized` and `q_scale()` as the tensor does.
  if (c10::isQIntType(meta.dtype)) raise_break(BreakCode::kTensorLayout, "a quantized tensor");
  at::Tensor tensor = at::detail::make_tensor<Tracer>(meta, identity, c10::InferenceMode::is_enabled());
  if (requires_grad) {
    if (leaf) {
      tensor.unsafeGetTensorImpl()->set_requires_grad(true);
      static_cast<Tracer*>(tensor.unsafeGetTensorImpl())->set_leaf_with_gradient(true);
    } else {
      autograd::impl::set_gradient_edge(tensor, new_history(tensor));
    }
  }
  return tensor;
}

at::Tensor make_unsized_tracer(Tracer::Identity identity) {
  at::Tensor tensor = at::detail::make_tensor<Tracer>(TensorMeta{}, identity, /*inference=*/true);
  static_cast<Tracer*>(tensor.unsafeGetTensorImpl())->forget_sizes();
  return tensor;
}

static bool is_differentiable(c10::ScalarType dtype) {
  return c10::isFloatingType(dtype) || c10::isComplexType(dtype);
}

at::Tensor make_view_tracer(const TensorMeta& meta, Tracer::Identity identity, const at::Tensor& base,
                            bool requires_grad, bool detached) {
  at::Tensor tensor = at::detail::make_tensor<Tracer>(meta, identity, base.is_inference());
  if (base.is_inference()) return tensor;
  // Memory that is seen as another kind of number has no base.
  const bool reinterpreted = is_differentiable(meta.dtype) != is_differentiable(base.scalar_type());
  if (detached || reinterpreted) {
    tensor.unsafeGetTensorImpl()->set_version_counter(autograd::impl::version_counter(base));
    return tensor;
  }
  const auto creation = c10::InferenceMode::is_enabled() ? autograd::CreationMeta::INFERENCE_MODE
                        : !c10::GradMode::is_enabled()   ? autograd::CreationMeta::NO_GRAD_MODE
                                                         : autograd::CreationMeta::DEFAULT;
  tensor = autograd::as_view(base, tensor, /*is_bw_differentiable=*/true, /*is_fw_differentiable=*/false,
                             nullptr, nullptr, creation);
  if (requires_grad) autograd::impl::set_gradient_edge(tensor, new_history(tensor));
  return tensor;
}

void attach_history(const at::Tensor& tensor) { autograd::impl::rebase_history(tensor, new_history(tensor)); }

bool is_leaf_of_other_gradient(const at::Tensor& tensor, const Tracer& tracer) {
  const auto* meta = autograd::impl::get_autograd_meta(tensor);
  return meta != nullptr && meta->hooks_.empty() && !meta->retains_grad_ && !meta->post_acc_grad_hooks_ &&
         !meta->is_view_ && !meta->grad_fn_ && meta->requires_grad_ != tracer.leaf_with_gradient();
}

bool has_drifted(const at::Tensor& tensor, const Tracer& tracer) {
  const auto* meta = autograd::impl::get_autograd_meta(tensor);
  if (!meta) return tracer.leaf_with_gradient();
  if (!meta->hooks_.empty() || meta->retains_grad_ || meta->post_acc_grad_hooks_) return true;
  if (meta->is_view_) return false;  // follows its base, which is looked at when it is used itself
  if (!meta->grad_fn_) return meta->requires_grad_ != tracer.leaf_with_gradient();
  const autograd::Node& node = *meta->grad_fn_;
  return typeid(node) != typeid(TracedHistory) && typeid(node) != typeid(autograd::CopySlices);
}

void drop_history(const at::Tensor& tensor) {
  if (tensor.is_view()) raise_break(BreakCode::kUnsupportedOperator, "detach_() on a view");
  if (auto* meta = autograd::impl::get_autograd_meta(tensor)) {
    meta->set_requires_grad(false, tensor.unsafeGetTensorImpl());
    meta->grad_fn_.reset();
    meta->output_nr_ = 0;
  }
}

c10::BackendComponent backend_of(c10::DeviceType device) {
  switch (device) {
    case c10::kCPU:
      return c10::BackendComponent::CPUBit;
    case c10::kCUDA:
      return c10::BackendComponent::CUDABit;
    case c10::kMeta:
      return c10::BackendComponent::MetaBit;
    case c10::kMPS:
      return c10::BackendComponent::MPSBit;
    case c10::kXPU:
      return c10::BackendComponent::XPUBit;
    case c10::kXLA:
      return c10::BackendComponent::XLABit;
    case c10::kPrivateUse1:
      return c10::BackendComponent::PrivateUse1Bit;
    default:
      raise_break(BreakCode::kUnsupportedOperator, "tensors of this kind of device");
  }
}

uint64_t new_memory() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

TensorMeta meta_of(const at::TensorBase& tensor) {
  TensorMeta meta;
  if (const Tracer* tracer = as_tracer(tensor); tracer && tracer->symbolic_meta()) {
    const TensorMeta& known = *tracer->symbolic_meta();
    meta.sizes = known.sizes;
    meta.strides = known.strides;
    meta.offset = known.offset;
  } else {
    const auto sizes = tensor.sizes();
    const auto strides = tensor.strides();
    meta.sizes.assign(sizes.begin(), sizes.end());
    meta.strides.assign(strides.begin(), strides.end());
    meta.offset = tensor.storage_offset();
  }
  meta.dtype = tensor.scalar_type();
  meta.device = tensor.device();
  meta.wrapped_number = tensor.unsafeGetTensorImpl()->is_wrapped_number();
  meta.conj = tensor.is_conj();
  meta.neg = tensor.is_neg();
  return meta;
}

}  // namespace stator
