// src/torch/replacements/attribute_writes.cpp: records what a program writes to attributes of tensors.
#include "torch/replacements/attribute_writes.h"

#include <torch/csrc/autograd/python_variable.h>

#include "torch/tracing/tracer.h"

namespace stator {

DomainCapture::AttributeWrite record_attribute_write(Session& session, PyObject* object, PyObject* name,
                                                     PyObject* value) {
  using enum DomainCapture::AttributeWrite;
  const at::Tensor& tensor = THPVariable_Unpack(object);
  if (tensor.is_inference() || session.unrecorded != 0) return refused;
  if (PyUnicode_CompareWithASCIIString(name, "requires_grad") == 0) {
    if (!PyBool_Check(value)) return refused;
    if (is_wrapper(tensor)) return made;  // of the transform's history, which no run has
    const bool requires_grad = value == Py_True;
    session.value_of(tensor);  // from now on its state is guarded
    const bool is_differentiable =
        at::isFloatingType(tensor.scalar_type()) || at::isComplexType(tensor.scalar_type());
    if (tensor.requires_grad() == requires_grad || !tensor.is_leaf() || !is_differentiable) return made;
    const bool existed = as_tracer(tensor) == nullptr;
    if ((existed && tensor.is_view()) || !session.changes_tensors) return refused;
    session.record_requires_grad(tensor, requires_grad);
    return made;
  }
  if (PyUnicode_CompareWithASCIIString(name, "data") == 0) {
    if (!PyObject_TypeCheck(value, reinterpret_cast<PyTypeObject*>(THPVariableClass))) return refused;
    const at::Tensor& data = THPVariable_Unpack(value);
    const bool alike = same_layout(meta_of(tensor), meta_of(data)) && tensor.dtype() == data.dtype() &&
                       tensor.device() == data.device() && data.layout() == c10::kStrided;
    if (!session.changes_tensors || as_tracer(tensor) != nullptr || !alike || data.is_inference() ||
        data.is_conj() != tensor.is_conj() || data.is_neg() != tensor.is_neg())
      return refused;
    session.record_set_data(tensor, data);
    return done;
  }
  return refused;
}

}  // namespace stator
