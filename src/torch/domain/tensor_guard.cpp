// src/torch/domain/tensor_guard.cpp: the metadata of a tensor that a capture relied on.
#include "torch/domain/tensor_guard.h"

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/python_variable.h>

#include <string>

namespace stator {
namespace {

std::string list(const std::vector<int64_t>& numbers) {
  std::string text = "[";
  for (size_t i = 0; i < numbers.size(); i++) text += (i == 0 ? "" : ", ") + std::to_string(numbers[i]);
  return text + "]";
}

class MetadataGuard final : public TensorGuard {
 public:
  explicit MetadataGuard(PyObject* object) : type_(Py_TYPE(object)) {
    const at::Tensor& tensor = THPVariable_Unpack(object);
    const auto* impl = tensor.unsafeGetTensorImpl();
    keys_ = impl->key_set();
    dtype_ = impl->dtype();
    device_ = impl->device();
    sizes_ = tensor.sizes().vec();
    strides_ = tensor.strides().vec();
    requires_grad_ = tensor.requires_grad();
    leaf_ = tensor.is_leaf();
  }

  bool holds(PyObject* object) const override {
    if (Py_TYPE(object) != type_) return false;
    const at::Tensor& tensor = THPVariable_Unpack(object);
    const auto* impl = tensor.unsafeGetTensorImpl();
    return impl->key_set() == keys_ && impl->dtype() == dtype_ && impl->device() == device_ &&
           impl->sizes().equals(sizes_) && impl->strides().equals(strides_) &&
           impl->requires_grad() == requires_grad_ && (!requires_grad_ || tensor.is_leaf() == leaf_);
  }

  std::string expected() const override {
    std::string text = type_->tp_name;
    text += " ";
    text += std::string(dtype_.name());
    text += " " + list(sizes_) + " strides " + list(strides_) + " on " + device_.str();
    return requires_grad_ ? text + ", requires grad" : text;
  }

 private:
  PyTypeObject* type_;
  c10::DispatchKeySet keys_;
  caffe2::TypeMeta dtype_;
  c10::Device device_ = c10::kCPU;
  std::vector<int64_t> sizes_, strides_;
  bool requires_grad_ = false, leaf_ = true;
};

}  // namespace

bool is_plain_tensor_type(PyTypeObject* type) {
  auto* tensor_class = reinterpret_cast<PyTypeObject*>(THPVariableClass);
  if (type == tensor_class) return true;
  static PyObject* const parameter_class = [] {
    PyObject* module = PyImport_ImportModule("torch.nn.parameter");
    PyObject* found = module != nullptr ? PyObject_GetAttrString(module, "Parameter") : nullptr;
    Py_XDECREF(module);
    if (found == nullptr) PyErr_Clear();
    return found;
  }();
  return reinterpret_cast<PyObject*>(type) == parameter_class;
}

std::unique_ptr<TensorGuard> make_tensor_guard(PyObject* object) {
  if (!is_plain_tensor_type(Py_TYPE(object))) return nullptr;
  const at::Tensor& tensor = THPVariable_Unpack(object);
  if (tensor.layout() != c10::kStrided || tensor.unsafeGetTensorImpl()->is_python_dispatch()) return nullptr;
  return std::make_unique<MetadataGuard>(object);
}

}  // namespace stator
