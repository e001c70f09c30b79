// src/backends/native/numbers.cpp: arithmetic on floats as Python does it, also where it raises.
#include "backends/native/numbers.h"

#include <torch/csrc/Exceptions.h>
#include <torch/csrc/utils/pybind.h>

#include <cmath>
#include <stdexcept>

#include "capture/cpython/module_attribute.h"
#include "core/shape/real.h"

namespace stator::native {
namespace {

// Throws the error that is set.
[[noreturn]] void throw_python() {
  python_error error;
  error.persist();
  throw error;
}

double ask_python(shape::RealFunction function, double a, double b) {
  const py::gil_scoped_acquire locked;
  const shape::RealFunctionInfo& info = shape::info(function);
  const Ref<> called = module_attribute(info.module, info.name);
  const Ref<> result = Ref<>::steal(info.operands == 1 ? PyObject_CallFunction(called.get(), "d", a)
                                                       : PyObject_CallFunction(called.get(), "dd", a, b));
  const double number = result ? PyFloat_AsDouble(result.get()) : 0;
  if (PyErr_Occurred()) throw_python();
  return number;
}

// Complex numbers and errors are Python's to give.
double power(double a, double b) {
  const double result = std::pow(a, b);
  if (std::isfinite(result)) return result;
  const py::gil_scoped_acquire locked;
  const Ref<> x = Ref<>::steal(PyFloat_FromDouble(a)), y = Ref<>::steal(PyFloat_FromDouble(b));
  const Ref<> number = Ref<>::steal(x && y ? PyNumber_Power(x.get(), y.get(), Py_None) : nullptr);
  if (!number) throw_python();
  if (!PyFloat_CheckExact(number.get()))
    throw std::runtime_error("stator: a power of a negative number is complex; the capture has a float");
  return PyFloat_AS_DOUBLE(number.get());
}

double quotient(double a, double b) {
  if (b != 0) return a / b;
  const py::gil_scoped_acquire locked;
  const Ref<> x = Ref<>::steal(PyFloat_FromDouble(a)), y = Ref<>::steal(PyFloat_FromDouble(b));
  const Ref<> number = Ref<>::steal(x && y ? PyNumber_TrueDivide(x.get(), y.get()) : nullptr);
  throw_python();
}

}  // namespace

bool is_number_operator(ir::OpId op) {
  return op == ir::op::kIntOf || (static_cast<uint32_t>(op) >= static_cast<uint32_t>(ir::op::kFloatAdd) &&
                                  static_cast<uint32_t>(op) <= static_cast<uint32_t>(ir::op::kFloatOf));
}

c10::IValue calculate(ir::OpId op, const torch::jit::Stack& arguments) {
  using shape::RealKind;
  if (op == ir::op::kIntOf) return arguments[0];
  const double a = arguments[0].toScalar().toDouble();
  if (op == ir::op::kFloatOf) return a;
  if (op == ir::op::kFloatNeg) return -a;
  const double b = arguments[1].toScalar().toDouble();
  if (op == ir::op::kFloatPow) return power(a, b);
  if (op == ir::op::kFloatDiv) return quotient(a, b);
  const RealKind kind = op == ir::op::kFloatAdd   ? RealKind::kAdd
                        : op == ir::op::kFloatSub ? RealKind::kSub
                                                  : RealKind::kMul;
  return shape::RealTable::apply(kind, a, b);
}

c10::IValue call_function(shape::RealFunction function, const torch::jit::Stack& arguments) {
  const double a = arguments[0].toScalar().toDouble();
  const double b = arguments[1].isNone() ? a : arguments[1].toScalar().toDouble();
  const double result = shape::apply(function, a, b);
  // Otherwise Python may raise.
  return std::isfinite(result) ? result : ask_python(function, a, b);
}

}  // namespace stator::native
