// src/torch/replacements/new_tensor.cpp: Tensor.new_tensor of a tracer, as torch.tensor with its dtype and
// device, and Tensor.new.
#include "torch/replacements/new_tensor.h"

#include <torch/csrc/Size.h>
#include <torch/csrc/autograd/python_variable.h>

#include <string_view>

#include "capture/cpython/module_attribute.h"
#include "torch/replacements/tensor_data.h"
#include "torch/replacements/tensor_method.h"
#include "torch/symbols/sym_python.h"
#include "torch/tracing/session.h"
#include "torch/tracing/tracer.h"

namespace stator {
namespace {

constexpr std::string_view kName = "new_tensor", kOldName = "new";

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
  if (is_usual && has_unseen_tensors(arguments[first])) return nullptr;
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

// Of the forms of the older `new` the one that is given sizes: a tensor without contents.
PyObject* call_old(PyObject* original, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  const bool is_bound = PyCFunction_Check(original);
  PyObject* self = is_bound ? PyCFunction_GET_SELF(original) : count > 0 ? arguments[0] : nullptr;
  const Py_ssize_t first = is_bound ? 0 : 1;
  bool sizes = self != nullptr && is_tensor(self) && count > first && names == nullptr;
  const bool is_size = sizes && count == first + 1 && THPSize_Check(arguments[first]);
  for (Py_ssize_t i = first; i < count; i++)
    sizes &= is_size || PyLong_CheckExact(arguments[i]) || is_sym_number(arguments[i]);
  if (!sizes) {
    Session::current()->note_break(BreakCode::kReadsMemory, "Tensor.new of anything but sizes");
    PyErr_SetString(PyExc_RuntimeError, "stator: Tensor.new of anything but sizes");
    return nullptr;
  }
  Ref<> shape = is_size ? Ref<>::share(arguments[first]) : Ref<>::steal(PyTuple_New(count - first));
  for (Py_ssize_t i = first; shape && !is_size && i < count; i++)
    PyTuple_SET_ITEM(shape.get(), i - first, Py_NewRef(arguments[i]));
  return shape ? PyObject_CallMethod(self, "new_empty", "(O)", shape.get()) : nullptr;
}

PyMethodDef old_instead = {"new", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call_old)),
                           METH_FASTCALL | METH_KEYWORDS, nullptr};

PyMethodDef instead = {"new_tensor", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call)),
                       METH_FASTCALL | METH_KEYWORDS, nullptr};

}  // namespace

Ref<> makes_new_tensor(PyObject* callable) {
  if (is_new_tensor(callable)) return {};
  const std::string_view name = tensor_method_name(callable);
  PyMethodDef* method = name == kName ? &instead : name == kOldName ? &old_instead : nullptr;
  return method != nullptr ? Ref<>::steal(PyCFunction_New(method, callable)) : Ref<>();
}

bool is_new_tensor(PyObject* callable) {
  if (!PyCFunction_Check(callable)) return false;
  const PyMethodDef* method = reinterpret_cast<PyCFunctionObject*>(callable)->m_ml;
  return method == &instead || method == &old_instead;
}

}  // namespace stator
