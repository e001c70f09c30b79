// src/torch/guards/tensor_guard.cpp: the metadata of a tensor that a capture relied on.
#include "torch/guards/tensor_guard.h"

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/python_variable.h>

#include <algorithm>
#include <string>
#include <unordered_map>

#include "capture/cpython/interrupts.h"
#include "capture/cpython/module_attribute.h"
#include "capture/cpython/python_class.h"
#include "capture/guards/dynamism.h"
#include "torch/guards/wrapper_guard.h"
#include "torch/tracing/session.h"

namespace stator {
namespace {

// Of the running capture: for each of its tensors whether its storage offset was asked for. Shared with
// guards, which outlive it. Guarded by the GIL.
std::unordered_map<const c10::TensorImpl*, std::shared_ptr<bool>>& offset_reads() {
  static auto* const reads = new std::unordered_map<const c10::TensorImpl*, std::shared_ptr<bool>>;
  return *reads;
}

std::shared_ptr<bool> offset_read(const at::Tensor& tensor) {
  std::shared_ptr<bool>& read = offset_reads()[tensor.unsafeGetTensorImpl()];
  if (!read) read = std::make_shared<bool>(false);
  return read;
}

// All but sizes and strides.
class MetadataGuard : public TensorGuard {
 public:
  explicit MetadataGuard(PyObject* object) : type_(Py_TYPE(object)) {
    if (!is_plain_tensor_type(type_))
      alive_ = Ref<>::steal(PyWeakref_NewRef(reinterpret_cast<PyObject*>(type_), nullptr));
    const at::Tensor& tensor = THPVariable_Unpack(object);
    const auto* impl = tensor.unsafeGetTensorImpl();
    keys_ = impl->key_set();
    dtype_ = impl->dtype();
    device_ = impl->device();
    sizes_ = tensor.sizes().vec();
    strides_ = tensor.strides().vec();
    requires_grad_ = tensor.requires_grad();
    leaf_ = tensor.is_leaf();
    offset_ = tensor.storage_offset();
    offset_read_ = offset_read(tensor);
  }

  uint64_t changed_sizes(PyObject* object) const override {
    if (!is_of_type(object)) return 0;
    const at::Tensor& tensor = THPVariable_Unpack(object);
    if (!is_alike(tensor) || tensor.dim() != static_cast<int64_t>(sizes_.size())) return 0;
    uint64_t changed = 0;
    const auto sizes = tensor.sizes(), strides = tensor.strides();
    int64_t next = 1;
    for (size_t i : stride_order(tensor)) {
      if (i < Varying::kStrides) {
        if (is_number(i) && sizes[i] != sizes_[i]) changed |= uint64_t{1} << i;
        if (is_stride_number(i) && strides[i] != next && strides[i] != strides_[i])
          changed |= uint64_t{1} << (Varying::kStrides + i);
      }
      next = strides[i] * std::max<int64_t>(sizes[i], 1);
    }
    return changed;
  }

  std::string expected() const override {
    std::string text = type_->tp_name;
    text += " ";
    text += std::string(dtype_.name());
    text += " " + list(sizes_, true) + " strides " + list(strides_, false) + " on " + device_.str();
    if (*offset_read_) text += ", offset " + std::to_string(offset_);
    return requires_grad_ ? text + ", requires grad" : text;
  }

 protected:
  // A class of the program's may be gone, and another one have its address.
  bool is_of_type(PyObject* object) const {
    return Py_TYPE(object) == type_ &&
           (!alive_ || PyWeakref_GET_OBJECT(alive_.get()) == reinterpret_cast<PyObject*>(type_));
  }
  bool is_alike(const at::Tensor& tensor) const {
    const auto* impl = tensor.unsafeGetTensorImpl();
    return impl->key_set() == keys_ && impl->dtype() == dtype_ && impl->device() == device_ &&
           impl->requires_grad() == requires_grad_ && (!requires_grad_ || tensor.is_leaf() == leaf_) &&
           (!*offset_read_ || impl->storage_offset() == offset_);
  }
  // Whether the size of this dimension, or its stride, is a number.
  virtual bool is_number(size_t) const { return true; }
  virtual bool is_stride_number(size_t) const { return true; }

  PyTypeObject* type_;
  Ref<> alive_;                           // a weak reference to it, where it is a class of the program's
  std::vector<int64_t> sizes_, strides_;  // as they were at the capture

 private:
  std::string list(const std::vector<int64_t>& numbers, bool sizes) const {
    std::string text = "[";
    for (size_t i = 0; i < numbers.size(); i++) {
      text += i == 0 ? "" : ", ";
      text += (sizes ? is_number(i) : is_stride_number(i)) ? std::to_string(numbers[i]) : "*";
    }
    return text + "]";
  }

  c10::DispatchKeySet keys_;
  caffe2::TypeMeta dtype_;
  c10::Device device_ = c10::kCPU;
  bool requires_grad_ = false, leaf_ = true;
  int64_t offset_ = 0;
  std::shared_ptr<bool> offset_read_;  // whether it counts
};

class StaticGuard final : public MetadataGuard {
 public:
  using MetadataGuard::MetadataGuard;

  bool holds(PyObject* object, shape::Bindings&) const override {
    if (!is_of_type(object)) return false;
    const at::Tensor& tensor = THPVariable_Unpack(object);
    const auto* impl = tensor.unsafeGetTensorImpl();
    return impl->sizes().equals(sizes_) && impl->strides().equals(strides_) && is_alike(tensor);
  }
};

// Some sizes or strides are symbols, and strides that follow from sizes are compared with what follows.
class SymbolicGuard final : public MetadataGuard {
 public:
  SymbolicGuard(PyObject* object, const TensorMeta& meta) : MetadataGuard(object) {
    const auto symbol_of = [](const Size& size) {
      return static_cast<size_t>(size.context()->exprs()[size.dim().expr()].number);
    };
    size_t inner = kNone;
    int64_t next = 1;
    dims_.resize(meta.sizes.size());
    for (size_t i : stride_order(THPVariable_Unpack(object))) {
      if (meta.sizes[i].is_symbolic()) dims_[i].symbol = symbol_of(meta.sizes[i]);
      if (meta.strides[i].is_symbolic()) {
        if (strides_[i] == next) {
          dims_[i].inner = inner;
        } else {
          dims_[i].stride_symbol = symbol_of(meta.strides[i]);
        }
      }
      inner = i;
      next = strides_[i] * std::max<int64_t>(sizes_[i], 1);
    }
  }

  bool holds(PyObject* object, shape::Bindings& bindings) const override {
    if (!is_of_type(object)) return false;
    const at::Tensor& tensor = THPVariable_Unpack(object);
    const auto* impl = tensor.unsafeGetTensorImpl();
    const auto sizes = impl->sizes(), strides = impl->strides();
    if (sizes.size() != dims_.size() || !is_alike(tensor)) return false;
    for (size_t i = 0; i < dims_.size(); i++) {
      const Dimension& dim = dims_[i];
      if (dim.symbol != kNone) {
        bindings.ints[dim.symbol] = sizes[i];
      } else if (sizes[i] != sizes_[i]) {
        return false;
      }
      if (dim.stride_symbol != kNone) {
        bindings.ints[dim.stride_symbol] = strides[i];
        continue;
      }
      const int64_t stride =
          dim.inner == kNone ? strides_[i] : strides[dim.inner] * std::max<int64_t>(sizes[dim.inner], 1);
      if (strides[i] != stride) return false;
    }
    return true;
  }

 private:
  static constexpr size_t kNone = SIZE_MAX;
  struct Dimension {
    size_t symbol = kNone;
    size_t inner = kNone;  // the stride is the size times the stride of this dimension
    size_t stride_symbol = kNone;
  };
  bool is_number(size_t i) const override { return dims_[i].symbol == kNone; }
  bool is_stride_number(size_t i) const override {
    return dims_[i].inner == kNone && dims_[i].stride_symbol == kNone;
  }

  std::vector<Dimension> dims_;
};

}  // namespace

bool is_plain_tensor_type(PyTypeObject* type) {
  auto* tensor_class = reinterpret_cast<PyTypeObject*>(THPVariableClass);
  if (type == tensor_class) return true;
  static PyObject* const parameter_class = [] {
    PyObject* found = module_attribute("torch.nn.parameter", "Parameter").release();
    drop_error();
    return found;
  }();
  return reinterpret_cast<PyObject*>(type) == parameter_class;
}

// A class of the program's over torch.Tensor, all of whose behaviour is Python code: a tracer can be made one
// of its instances, and is then treated by torch as the program wants it (__torch_function__).
static bool is_python_subclass(PyTypeObject* type) {
  const auto* base = reinterpret_cast<PyTypeObject*>(THPVariableClass);
  return PyType_IsSubtype(type, const_cast<PyTypeObject*>(base)) &&
         type->tp_basicsize == base->tp_basicsize && type->tp_dictoffset == base->tp_dictoffset &&
         cpython::is_python_class(type);
}

static bool can_be_guarded(PyObject* object) {
  if (!is_plain_tensor_type(Py_TYPE(object)) && !is_python_subclass(Py_TYPE(object))) return false;
  const at::Tensor& tensor = THPVariable_Unpack(object);
  // In this order: such a tensor calls code of its class's for its layout.
  return !tensor.unsafeGetTensorImpl()->is_python_dispatch() && tensor.layout() == c10::kStrided &&
         !tensor.is_quantized();
}

void note_offset_read(const at::Tensor& tensor) { *offset_read(tensor) = true; }

void forget_offset_reads() { offset_reads().clear(); }

static bool is_wrapper(PyObject* object) {
  return THPVariable_Unpack(object).unsafeGetTensorImpl()->is_python_dispatch();
}

std::unique_ptr<TensorGuard> make_tensor_guard(PyObject* object) {
  if (is_wrapper(object)) return make_wrapper_guard(object);
  return can_be_guarded(object) ? std::make_unique<StaticGuard>(object) : nullptr;
}

std::unique_ptr<TensorGuard> make_tensor_guard(PyObject* object, const TensorMeta& meta) {
  if (!can_be_guarded(object)) return nullptr;
  const auto is_symbolic = [](const Size& size) { return size.is_symbolic(); };
  const bool symbolic =
      std::ranges::any_of(meta.sizes, is_symbolic) || std::ranges::any_of(meta.strides, is_symbolic);
  if (!symbolic) return std::make_unique<StaticGuard>(object);
  return std::make_unique<SymbolicGuard>(object, meta);
}

}  // namespace stator
