// src/torch/symbols/wrapped_symbol.cpp: finds the symbolic number behind a wrapped number.
#include "torch/symbols/wrapped_symbol.h"

#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/pybind.h>

#include <cmath>

#include "capture/cpython/interrupts.h"
#include "torch/symbols/sym_python.h"
#include "torch/tracing/tracer.h"

namespace stator {

namespace {

// The numbers that torch's argument parser puts in place of a SymInt and of a SymFloat.
bool is_placeholder(const at::Tensor& tensor) {
  if (!tensor.unsafeGetTensorImpl()->is_wrapped_number() || as_tracer(tensor)) return false;
  if (tensor.scalar_type() == at::kLong) return *tensor.const_data_ptr<int64_t>() == 7777777;
  return tensor.scalar_type() == at::kDouble && std::isnan(*tensor.const_data_ptr<double>());
}

}  // namespace

std::optional<SymNumber> wrapped_symbol(const at::Tensor& tensor) {
  if (!is_placeholder(tensor)) return std::nullopt;
  const py::gil_scoped_acquire gil;
  static PyObject* const name = PyUnicode_InternFromString("_wrapped_number");
  const Ref<> object = Ref<>::steal(THPVariable_Wrap(tensor));
  const Ref<> number = Ref<>::steal(object ? PyObject_GetAttr(object.get(), name) : nullptr);
  if (!number) {
    drop_error();
    return std::nullopt;
  }
  return number_of(number.get());
}

}  // namespace stator
