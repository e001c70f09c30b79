// src/backends/native/numbers.cpp: arithmetic on floats as Python does it, also where it raises.
#include "backends/native/numbers.h"

#include <torch/csrc/Exceptions.h>
#include <torch/csrc/utils/pybind.h>

#include <cmath>
#include <stdexcept>

#include "capture/recording/module_attribute.h"
#include "core/shape/real.h"

namespace stator::native {
namespace {

// Throws the error that is set.
[[noreturn]] void throw_python() {
  python_error error;
  error.persist();
  throw error;
}

[[noreturn]] void raise_python(PyObject* type, const char* message) {
  const py::gil_scoped_acquire locked;
  PyErr_SetString(type, message);
  throw_python();
}

// Where a guard has not decided it beforehand, since the numbers were read off tensors.
double power(double a, double b) {
  if (a == 0 && b < 0) raise_python(PyExc_ZeroDivisionError, "0.0 cannot be raised to a negative power");
  if (a < 0 && std::isfinite(a) && std::isfinite(b) && b != std::floor(b))
    throw std::runtime_error("stator: a power of a negative number is complex; the capture has a float");
  const double result = std::pow(a, b);
  if (std::isinf(result) && std::isfinite(a) && std::isfinite(b))
    raise_python(PyExc_OverflowError, "(34, 'Numerical result out of range')");
  return result;
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
  if (op == ir::op::kFloatDiv && b == 0) raise_python(PyExc_ZeroDivisionError, "float division by zero");
  const RealKind kind = op == ir::op::kFloatAdd   ? RealKind::kAdd
                        : op == ir::op::kFloatSub ? RealKind::kSub
                        : op == ir::op::kFloatMul ? RealKind::kMul
                                                  : RealKind::kDiv;
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
