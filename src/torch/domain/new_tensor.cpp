// src/torch/domain/new_tensor.cpp: Tensor.new_tensor of a tracer, as torch.tensor with its dtype and device.
#include "torch/domain/new_tensor.h"

#include <torch/csrc/autograd/python_variable.h>

#include <string_view>

#include "capture/recording/module_attribute.h"
#include "torch/session.h"
#include "torch/tracer.h"

namespace stator {
namespace {

constexpr std::string_view kName = "new_tensor";

bool is_tensor(PyObject* object) {
  return PyObject_TypeCheck(object, reinterpret_cast<PyTypeObject*>(THPVariableClass));
}

// Gives the keyword the tensor's own attribute where the program gives none.
bool set_default(PyObject* keywords, const char* name, PyObject* tensor) {
  PyObject* given = PyDict_GetItemString(keywords, name);
  if (given != nullptr && given != Py_None) return true;
  const Ref<> own = Ref<>::steal(PyObject_GetAttrString(tensor, name));
  return own && PyDict_SetItemString(keywords, name, own.get()) == 0;
}

// `original` is torch's method.
PyObject* call(PyObject* original, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  const bool is_bound = PyCFunction_Check(original);
  PyObject* self = is_bound ? PyCFunction_GET_SELF(original) : count > 0 ? arguments[0] : nullptr;
  const Py_ssize_t first = is_bound ? 0 : 1;
  const bool is_usual = self != nullptr && is_tensor(self) && count == first + 1;
  if (!is_usual || as_tracer(THPVariable_Unpack(self)) == nullptr)
    return PyObject_Vectorcall(original, arguments, static_cast<size_t>(count), names);
  if (is_tensor(arguments[first])) {  // warns in words of its own
    Session::current()->note_break(BreakCode::kUnsupportedOperator, "new_tensor of a tensor");
    PyErr_SetString(PyExc_RuntimeError, "stator: new_tensor of a tensor");
    return nullptr;
  }
  const Ref<> keywords = Ref<>::steal(PyDict_New());
  const Ref<> positional = Ref<>::steal(PyTuple_Pack(1, arguments[first]));
  if (!keywords || !positional) return nullptr;
  for (Py_ssize_t i = 0; names != nullptr && i < PyTuple_GET_SIZE(names); i++) {
    if (PyDict_SetItem(keywords.get(), PyTuple_GET_ITEM(names, i), arguments[count + i]) < 0) return nullptr;
  }
  if (!set_default(keywords.get(), "dtype", self) || !set_default(keywords.get(), "device", self))
    return nullptr;
  const Ref<> make = module_attribute("torch", "tensor");
  return make ? PyObject_Call(make.get(), positional.get(), keywords.get()) : nullptr;
}

PyMethodDef instead = {"new_tensor", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call)),
                       METH_FASTCALL | METH_KEYWORDS, nullptr};

}  // namespace

Ref<> makes_new_tensor(PyObject* callable) {
  bool is_it = false;
  if (PyCFunction_Check(callable)) {
    const auto* function = reinterpret_cast<PyCFunctionObject*>(callable);
    is_it = function->m_ml != &instead && function->m_ml->ml_name == kName && function->m_self != nullptr &&
            is_tensor(function->m_self);
  } else if (Py_IS_TYPE(callable, &PyMethodDescr_Type)) {
    const auto* method = reinterpret_cast<PyMethodDescrObject*>(callable);
    is_it = method->d_method->ml_name == kName &&
            PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(THPVariableClass), PyDescr_TYPE(callable));
  }
  return is_it ? Ref<>::steal(PyCFunction_New(&instead, callable)) : Ref<>();
}

bool is_new_tensor(PyObject* callable) {
  return PyCFunction_Check(callable) && reinterpret_cast<PyCFunctionObject*>(callable)->m_ml == &instead;
}

}  // namespace stator
