// src/torch/symbols/symbol_calls.cpp: finds the function by its identity and calculates with expressions.
#include "torch/symbols/symbol_calls.h"

#include <torch/csrc/Size.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/pybind.h>

#include <cmath>
#include <string_view>
#include <unordered_map>

#include "capture/cpython/module_attribute.h"
#include "torch/symbols/sym_number.h"
#include "torch/symbols/sym_python.h"
#include "torch/tracing/caught_error.h"
#include "torch/tracing/tracer.h"

namespace stator {
namespace {

using shape::RealFunction;

Ref<> length_of(PyObject* tensor) {
  if (!Py_IS_TYPE(tensor, reinterpret_cast<PyTypeObject*>(THPVariableClass))) return {};
  const Tracer* tracer = as_tracer(THPVariable_Unpack(tensor));
  const TensorMeta* meta = tracer != nullptr ? tracer->symbolic_meta() : nullptr;
  if (meta == nullptr || meta->dim() == 0 || !meta->sizes[0].is_symbolic()) return {};
  const Ref<> size = Ref<>::steal(PyObject_CallMethod(tensor, "size", "i", 0));
  return size ? in_place_of(size.get()) : Ref<>();
}

// torch.Size.numel
Ref<> product_of(PyObject* size) {
  bool is_symbolic = false;
  auto product = Ref<>::steal(PyLong_FromLong(1));
  for (Py_ssize_t i = 0; product && i < PyTuple_GET_SIZE(size); i++) {
    is_symbolic = is_symbolic || is_sym_number(PyTuple_GET_ITEM(size, i));
    product = Ref<>::steal(PyNumber_Multiply(product.get(), PyTuple_GET_ITEM(size, i)));
  }
  return is_symbolic || !product ? std::move(product) : Ref<>();
}

// The functions of math that give floats. Never freed.
const std::unordered_map<PyObject*, RealFunction>& functions() {
  static const auto* const found = [] {
    auto* const all = new std::unordered_map<PyObject*, RealFunction>;
    for (size_t i = 0; i <= static_cast<size_t>(RealFunction::kRound); i++) {
      const auto function = static_cast<RealFunction>(i);
      const shape::RealFunctionInfo& info = shape::info(function);
      // Those of ints are methods of the symbols, and so are operators.
      if (std::string_view(info.module) != "math" || i >= static_cast<size_t>(RealFunction::kFloor)) continue;
      all->emplace(module_attribute(info.module, info.name).release(), function);
    }
    return all;
  }();
  return *found;
}

// math.log(a, b) is the quotient of two logarithms.
std::optional<SymNumber> logarithm(const SymNumber& a, const SymNumber& base) {
  const auto of = [](const SymNumber& number) -> std::optional<SymNumber> {
    if (number.is_symbolic()) return call(RealFunction::kLog, number);
    const double log = shape::apply(RealFunction::kLog, number.hint(), 0);
    return std::isfinite(log) ? std::optional(SymNumber::of(log)) : std::nullopt;
  };
  const auto x = of(a), y = of(base);
  return x && y ? calculate(Arithmetic::truediv, *x, *y) : std::nullopt;
}

// Of ints that only the run knows: builtins.max and min would compare them. The others are decided by guards.
std::optional<SymNumber> extremum(bool is_largest, const SymNumber& a, const SymNumber& b) {
  if (a.is_real || b.is_real || (a.has_hint() && b.has_hint())) return std::nullopt;
  using shape::max, shape::min;
  return SymNumber::of(is_largest ? max(a.integer, b.integer) : min(a.integer, b.integer));
}

Ref<> truth(bool value) { return Ref<>::share(value ? Py_True : Py_False); }

Ref<> called(PyObject* function, PyObject* const* arguments, Py_ssize_t count) {
  static PyObject* const root = module_attribute("math", "isqrt").release();
  static PyObject* const finite = module_attribute("math", "isfinite").release();
  static PyObject* const nan = module_attribute("math", "isnan").release();
  static PyObject* const largest = module_attribute("builtins", "max").release();
  static PyObject* const smallest = module_attribute("builtins", "min").release();
  static PyObject* const infinite = module_attribute("math", "isinf").release();
  const auto a = number_of(arguments[0]);
  const auto b = count == 2 ? number_of(arguments[1]) : std::nullopt;
  if (!a || (count == 2 && !b) || (!a->is_symbolic() && !(b && b->is_symbolic()))) return {};
  std::optional<SymNumber> result;
  if (function == reinterpret_cast<PyObject*>(&PyFloat_Type)) {
    if (count == 1) result = to_float(*a);
  } else if (function == reinterpret_cast<PyObject*>(&PyLong_Type)) {
    if (count == 1) result = to_int(RealFunction::kTrunc, *a);
  } else if (function == largest || function == smallest) {
    if (count == 2) result = extremum(function == largest, *a, *b);
  } else if (function == root) {
    if (count == 1) result = integer_root(*a);
  } else if (function == finite || function == nan || function == infinite) {
    if (count != 1) return {};
    const bool is_finite = stator::is_finite(*a);
    if (is_finite || function == finite) return truth(is_finite == (function == finite));
  } else if (const auto found = functions().find(function); found != functions().end()) {
    if (found->second == RealFunction::kLog && count == 2) {
      result = logarithm(*a, *b);
    } else if (shape::info(found->second).operands == count) {
      result = call(found->second, *a, b);
    }
  }
  return result ? to_python(*result) : Ref<>();
}

}  // namespace

Ref<> symbol_from(PyObject* function, PyObject* const* arguments, Py_ssize_t count) {
  static PyObject* const length = module_attribute("builtins", "len").release();
  static PyObject* const product = PyObject_GetAttrString(reinterpret_cast<PyObject*>(&THPSizeType), "numel");
  if (count < 1 || count > 2) return {};
  try {
    if (function == length)
      return count == 1 && THPVariable_Check(arguments[0]) ? length_of(arguments[0]) : Ref<>();
    if (function == product)
      return count == 1 && THPSize_Check(arguments[0]) ? product_of(arguments[0]) : Ref<>();
    if (!is_sym_number(arguments[0]) && (count == 1 || !is_sym_number(arguments[1]))) return {};
    return called(function, arguments, count);
  } catch (const std::exception&) {
    raise_caught();
  }
  return {};
}

}  // namespace stator
