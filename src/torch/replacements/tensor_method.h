// src/torch/replacements/tensor_method.h: methods of tensors that C code defines, bound or as the class has
// them.
#pragma once

#include <torch/csrc/autograd/python_variable.h>

#include <string_view>

namespace stator {

// Not THPVariable_Check, which may run Python code of the class.
inline bool is_tensor(PyObject* object) {
  return PyObject_TypeCheck(object, reinterpret_cast<PyTypeObject*>(THPVariableClass));
}

// Empty: it is none.
inline std::string_view tensor_method_name(PyObject* callable) {
  if (PyCFunction_Check(callable)) {
    const auto* function = reinterpret_cast<PyCFunctionObject*>(callable);
    return function->m_self != nullptr && is_tensor(function->m_self) ? function->m_ml->ml_name : "";
  }
  if (Py_IS_TYPE(callable, &PyMethodDescr_Type) &&
      PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(THPVariableClass), PyDescr_TYPE(callable)))
    return reinterpret_cast<PyMethodDescrObject*>(callable)->d_method->ml_name;
  return {};
}

}  // namespace stator
