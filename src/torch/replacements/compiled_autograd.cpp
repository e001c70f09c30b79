// src/torch/replacements/compiled_autograd.cpp: the functions have no name; torch keeps them by one.
#include "torch/replacements/compiled_autograd.h"

#include <torch/csrc/utils/pybind.h>

#include "capture/cpython/interrupts.h"
#include "capture/cpython/ref.h"

namespace stator {

bool is_autograd_operation(PyObject* callable) {
  if (!PyCFunction_Check(callable) ||
      reinterpret_cast<PyCFunctionObject*>(callable)->m_ml->ml_name[0] != '\0')
    return false;
  static PyObject* const name = PyUnicode_InternFromString("torch._dynamo.compiled_autograd");
  const Ref<> module = Ref<>::steal(PyImport_GetModule(name));
  if (!module) return drop_error(), false;
  for (const auto& [key, operation] : py::dict(py::handle(module.get()).attr("ops").attr("__dict__"))) {
    if (py::getattr(operation, "fn", py::none()).ptr() == callable) return true;
  }
  return false;
}

}  // namespace stator
