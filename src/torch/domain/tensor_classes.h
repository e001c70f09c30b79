// src/torch/domain/tensor_classes.h: classes of the program's whose instances are tensors.
#ifndef STATOR_TORCH_DOMAIN_TENSOR_CLASSES_H
#define STATOR_TORCH_DOMAIN_TENSOR_CLASSES_H

#include <string_view>

#include "capture/cpython/python_class.h"
#include "capture/cpython/type_dict.h"

namespace stator {

// Whether the class of a tensor is none of torch's own. Its methods are called by C code, and its instances
// come out of a run as plain tensors.
inline bool is_tensor_subclass(PyTypeObject* type) {
  static PyObject* const name = PyUnicode_InternFromString("__module__");
  if (!cpython::is_python_class(type)) return false;
  PyObject* const module = cpython::own_attribute(type, name);
  const char* text = module != nullptr && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : nullptr;
  const std::string_view owner = text != nullptr ? text : "";
  return owner != "torch" && owner != "torch.nn.parameter" && owner != "torch._tensor";
}

}  // namespace stator

#endif
