// src/torch/symbols/sym_python.cpp: the Python classes of symbolic numbers.
#include "torch/symbols/sym_python.h"

#include <torch/csrc/Size.h>
#include <torch/csrc/utils/pybind.h>
#include <torch/csrc/utils/python_symnode.h>

#include <string_view>

#include "capture/cpython/attribute_lookup.h"
#include "capture/cpython/interrupts.h"
#include "torch/symbols/sym_node.h"
#include "torch/tracing/caught_error.h"

namespace stator {
namespace {

PyObject* binary(Arithmetic operation, PyObject* left, PyObject* right);

// --- operands ---

PyObject* plain(const SymNumber& number) {
  if (number.is_real || !number.has_hint()) return PyFloat_FromDouble(number.specialize());
  return PyLong_FromLongLong(number.integer.specialize());
}

template <class Body>
PyObject* guarded(Body&& body) {
  try {
    return body();
  } catch (const std::exception&) {
    raise_caught();
  }
  return nullptr;
}

using PythonBinary = PyObject* (*)(PyObject*, PyObject*);

PyObject* plain_power(PyObject* a, PyObject* b) { return PyNumber_Power(a, b, Py_None); }

// With the numbers themselves, guarded; an int too large for 64 bits stays as it is.
PyObject* specialized(PythonBinary operation, PyObject* left, PyObject* right) {
  const auto fixed = [](PyObject* object) -> Ref<> {
    if (!is_sym_number(object)) return Ref<>::share(object);
    return Ref<>::steal(plain(*number_of(object)));
  };
  const Ref<> a = fixed(left), b = fixed(right);
  return a && b ? operation(a.get(), b.get()) : nullptr;
}

bool is_number(PyObject* object) {
  return PyLong_Check(object) || PyFloat_Check(object) || PyComplex_Check(object) || is_sym_number(object);
}

constexpr PythonBinary kPlain[] = {
    PyNumber_Add,       PyNumber_Subtract, PyNumber_Multiply, PyNumber_TrueDivide, PyNumber_FloorDivide,
    PyNumber_Remainder, plain_power,       PyNumber_Lshift,   PyNumber_Rshift,     PyNumber_And};

PyObject* binary(Arithmetic operation, PyObject* left, PyObject* right) {
  return guarded([&]() -> PyObject* {
    if (!is_number(left) || !is_number(right)) Py_RETURN_NOTIMPLEMENTED;
    const auto a = number_of(left), b = number_of(right);
    if (a && b) {
      if (const auto result = calculate(operation, *a, *b)) return to_python(*result).release();
    }
    return specialized(kPlain[static_cast<size_t>(operation)], left, right);
  });
}

template <Arithmetic operation>
PyObject* forward(PyObject* self, PyObject* other) {
  return binary(operation, self, other);
}
template <Arithmetic operation>
PyObject* reflected(PyObject* self, PyObject* other) {
  return binary(operation, other, self);
}

template <Comparison comparison>
PyObject* compared(PyObject* self, PyObject* other) {
  return guarded([&]() -> PyObject* {
    const auto a = number_of(self), b = is_number(other) ? number_of(other) : std::nullopt;
    if (a && b) return PyBool_FromLong(compare(comparison, *a, *b));
    if (!is_number(other)) Py_RETURN_NOTIMPLEMENTED;
    constexpr int kCodes[] = {Py_LT, Py_LE, Py_EQ, Py_NE, Py_GT, Py_GE};
    const Ref<> value = Ref<>::steal(plain(*a));
    return value ? PyObject_RichCompare(value.get(), other, kCodes[static_cast<size_t>(comparison)])
                 : nullptr;
  });
}

// Operations that have no symbolic form: on the numbers themselves.
template <PythonBinary operation>
PyObject* on_numbers(PyObject* self, PyObject* other) {
  return guarded([&] { return specialized(operation, self, other); });
}
template <PythonBinary operation>
PyObject* on_numbers_reflected(PyObject* self, PyObject* other) {
  return guarded([&] { return specialized(operation, other, self); });
}

template <class Use>
PyObject* with_plain(PyObject* self, Use&& use) {
  return guarded([&]() -> PyObject* {
    const Ref<> value = Ref<>::steal(plain(*number_of(self)));
    return value ? use(value.get()) : nullptr;
  });
}

PyObject* negative(PyObject* self, PyObject*) {
  return guarded([&] {
    const auto result = negate(*number_of(self));
    return result ? to_python(*result).release() : with_plain(self, PyNumber_Negative);
  });
}
PyObject* itself(PyObject* self, PyObject*) { return Py_NewRef(self); }
PyObject* absolute(PyObject* self, PyObject*) {
  return guarded([&] {
    const auto result = stator::absolute(*number_of(self));
    return result ? to_python(*result).release() : with_plain(self, PyNumber_Absolute);
  });
}
PyObject* truth(PyObject* self, PyObject*) {
  return guarded(
      [&] { return PyBool_FromLong(compare(Comparison::ne, *number_of(self), SymNumber::of(Size(0)))); });
}
PyObject* as_int(PyObject* self, PyObject*) {
  return with_plain(self, [](PyObject* value) { return PyNumber_Long(value); });
}
PyObject* as_float(PyObject* self, PyObject*) {
  return with_plain(self, [](PyObject* value) { return PyNumber_Float(value); });
}
PyObject* as_hash(PyObject* self, PyObject*) {
  return with_plain(self, [](PyObject* value) -> PyObject* {
    const Py_hash_t hash = PyObject_Hash(value);
    return hash == -1 && PyErr_Occurred() ? nullptr : PyLong_FromSsize_t(hash);
  });
}
PyObject* as_text(PyObject* self, PyObject*) { return with_plain(self, PyObject_Repr); }
PyObject* formatted(PyObject* self, PyObject* spec) {
  return with_plain(self, [&](PyObject* value) { return PyObject_Format(value, spec); });
}
using shape::RealFunction;

// math.floor(f) and the like are ints.
template <RealFunction rounding>
PyObject* as_whole(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    const SymNumber number = *number_of(self);
    if (const auto whole = to_int(rounding, number)) return to_python(*whole).release();
    const Ref<> value = Ref<>::steal(plain(number));
    if (!value) return nullptr;
    constexpr const char* kName = rounding == RealFunction::kFloor   ? "__floor__"
                                  : rounding == RealFunction::kCeil  ? "__ceil__"
                                  : rounding == RealFunction::kTrunc ? "__trunc__"
                                                                     : "__round__";
    return PyObject_CallMethod(value.get(), kName, nullptr);
  });
}
template <bool is_int>
PyObject* rounded(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  if (is_int && count == 0) return Py_NewRef(self);
  if (count == 0 || (count == 1 && arguments[0] == Py_None))
    return as_whole<RealFunction::kRound>(self, nullptr);
  return with_plain(self, [&](PyObject* value) {
    Ref<> method = Ref<>::steal(PyObject_GetAttrString(value, "__round__"));
    return method ? PyObject_Vectorcall(method.get(), arguments, static_cast<size_t>(count), nullptr)
                  : nullptr;
  });
}

PyObject* divided(PyObject* self, PyObject* other) {
  // An error of a quotient that only the run computes would have other words than one of divmod.
  const auto is_read = [](PyObject* object) {
    return is_sym_number(object) && !number_of(object)->has_hint();
  };
  if (is_read(self) || is_read(other)) return on_numbers<PyNumber_Divmod>(self, other);
  const Ref<> quotient = Ref<>::steal(binary(Arithmetic::floordiv, self, other));
  if (!quotient && PyErr_ExceptionMatches(PyExc_ZeroDivisionError)) {
    drop_error();
    return on_numbers<PyNumber_Divmod>(self, other);
  }
  if (!quotient || quotient.get() == Py_NotImplemented) return Ref<>(quotient).release();
  const Ref<> rest = Ref<>::steal(binary(Arithmetic::mod, self, other));
  return rest ? PyTuple_Pack(2, quotient.get(), rest.get()) : nullptr;
}
PyObject* divided_reflected(PyObject* self, PyObject* other) { return divided(other, self); }

// What int and float have and no symbol needs: read off the number.
PyObject* other_attribute(PyObject* self, PyObject* name) {
  const char* text = PyUnicode_AsUTF8(name);
  if (text == nullptr) return nullptr;
  PyObject* const type = reinterpret_cast<PyObject*>(number_of(self)->is_real ? &PyFloat_Type : &PyLong_Type);
  if (std::string_view(text).starts_with("_") || !has_attribute(type, name)) {
    PyErr_Format(PyExc_AttributeError, "'%s' object has no attribute '%U'",
                 reinterpret_cast<PyTypeObject*>(type)->tp_name, name);
    return nullptr;
  }
  return with_plain(self, [&](PyObject* value) { return PyObject_GetAttr(value, name); });
}

PyObject* int_type(PyObject*, PyObject*) { return Py_NewRef(reinterpret_cast<PyObject*>(&PyLong_Type)); }
PyObject* float_type(PyObject*, PyObject*) { return Py_NewRef(reinterpret_cast<PyObject*>(&PyFloat_Type)); }

#define ARITHMETIC(name, operation)                                    \
  {"__" name "__", forward<Arithmetic::operation>, METH_O, nullptr}, { \
    "__r" name "__", reflected<Arithmetic::operation>, METH_O, nullptr \
  }
#define ON_NUMBERS(name, function)                                   \
  {"__" name "__", on_numbers<function>, METH_O, nullptr}, {         \
    "__r" name "__", on_numbers_reflected<function>, METH_O, nullptr \
  }

PyMethodDef both_methods[] = {
    ARITHMETIC("add", add),
    ARITHMETIC("sub", sub),
    ARITHMETIC("mul", mul),
    ARITHMETIC("truediv", truediv),
    ARITHMETIC("floordiv", floordiv),
    ARITHMETIC("mod", mod),
    ARITHMETIC("pow", pow),
    {"__divmod__", divided, METH_O, nullptr},
    {"__rdivmod__", divided_reflected, METH_O, nullptr},
    {"__lt__", compared<Comparison::lt>, METH_O, nullptr},
    {"__le__", compared<Comparison::le>, METH_O, nullptr},
    {"__eq__", compared<Comparison::eq>, METH_O, nullptr},
    {"__ne__", compared<Comparison::ne>, METH_O, nullptr},
    {"__gt__", compared<Comparison::gt>, METH_O, nullptr},
    {"__ge__", compared<Comparison::ge>, METH_O, nullptr},
    {"__neg__", negative, METH_NOARGS, nullptr},
    {"__pos__", itself, METH_NOARGS, nullptr},
    {"__abs__", absolute, METH_NOARGS, nullptr},
    {"__bool__", truth, METH_NOARGS, nullptr},
    {"__int__", as_int, METH_NOARGS, nullptr},
    {"__float__", as_float, METH_NOARGS, nullptr},
    {"__hash__", as_hash, METH_NOARGS, nullptr},
    {"__repr__", as_text, METH_NOARGS, nullptr},
    {"__str__", as_text, METH_NOARGS, nullptr},
    {"__format__", formatted, METH_O, nullptr},
    {"conjugate", itself, METH_NOARGS, nullptr},
    {"__getattr__", other_attribute, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyMethodDef int_methods[] = {
    ARITHMETIC("and", bitand_),
    ON_NUMBERS("or", PyNumber_Or),
    ON_NUMBERS("xor", PyNumber_Xor),
    ARITHMETIC("lshift", lshift),
    ARITHMETIC("rshift", rshift),
    {"__index__", as_int, METH_NOARGS, nullptr},
    {"__round__", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(rounded<true>)), METH_FASTCALL,
     nullptr},
    {"__floor__", itself, METH_NOARGS, nullptr},
    {"__ceil__", itself, METH_NOARGS, nullptr},
    {"__trunc__", itself, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyMethodDef float_methods[] = {
    {"__round__", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(rounded<false>)), METH_FASTCALL,
     nullptr},
    {"__floor__", as_whole<RealFunction::kFloor>, METH_NOARGS, nullptr},
    {"__ceil__", as_whole<RealFunction::kCeil>, METH_NOARGS, nullptr},
    {"__trunc__", as_whole<RealFunction::kTrunc>, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyMethodDef int_class = {"__class__", int_type, METH_O, nullptr};
PyMethodDef float_class = {"__class__", float_type, METH_O, nullptr};

// --- classes ---

struct Classes {
  PyTypeObject *torch_int, *torch_float, *torch_bool;  // torch's own
  PyTypeObject *ours_int, *ours_float;
};

bool add_methods(PyObject* type, PyMethodDef* methods) {
  for (; methods->ml_name != nullptr; methods++) {
    const Ref<> method = Ref<>::steal(PyDescr_NewMethod(reinterpret_cast<PyTypeObject*>(type), methods));
    if (!method || PyObject_SetAttrString(type, methods->ml_name, method.get()) < 0) return false;
  }
  return true;
}

PyTypeObject* make_class(PyTypeObject* base, const char* name, PyMethodDef* methods,
                         PyMethodDef* class_method) {
  const Ref<> dict = Ref<>::steal(PyDict_New());
  const Ref<> module = Ref<>::steal(PyUnicode_FromString("stator._torch"));
  const Ref<> getter = Ref<>::steal(PyCFunction_New(class_method, nullptr));
  const Ref<> property = Ref<>::steal(
      getter ? PyObject_CallOneArg(reinterpret_cast<PyObject*>(&PyProperty_Type), getter.get()) : nullptr);
  if (!dict || !module || !property || PyDict_SetItemString(dict.get(), "__module__", module.get()) < 0 ||
      PyDict_SetItemString(dict.get(), "__class__", property.get()) < 0) {
    return nullptr;
  }
  PyObject* type = PyObject_CallFunction(reinterpret_cast<PyObject*>(&PyType_Type), "s(O)O", name,
                                         reinterpret_cast<PyObject*>(base), dict.get());
  if (type == nullptr || !add_methods(type, both_methods) || !add_methods(type, methods)) return nullptr;
  return reinterpret_cast<PyTypeObject*>(type);
}

// Made once and never freed.
const Classes& classes() {
  static const Classes made = [] {
    const auto type = [](py::handle handle) { return reinterpret_cast<PyTypeObject*>(handle.ptr()); };
    Classes all{type(torch::get_symint_class()), type(torch::get_symfloat_class()),
                type(torch::get_symbool_class()), nullptr, nullptr};
    // Named for the texts of errors: "unsupported operand type(s) for +: 'int' and 'str'".
    all.ours_int = make_class(all.torch_int, "int", int_methods, &int_class);
    all.ours_float = make_class(all.torch_float, "float", float_methods, &float_class);
    if (all.ours_int == nullptr || all.ours_float == nullptr) throw py::error_already_set();
    return all;
  }();
  return made;
}

PyObject* node_name() {
  static PyObject* const name = PyUnicode_InternFromString("node");
  return name;
}

c10::SymNode node_of(PyObject* object) {
  const Ref<> node = Ref<>::steal(PyObject_GetAttr(object, node_name()));
  if (!node) throw py::error_already_set();
  return py::cast<c10::SymNode>(py::handle(node.get()));
}

}  // namespace

Ref<> to_python(const SymNumber& number) {
  if (!number.is_symbolic()) return Ref<>::steal(plain(number));
  PyTypeObject* type = number.is_real ? classes().ours_float : classes().ours_int;
  Ref<> object = Ref<>::steal(type->tp_alloc(type, 0));
  const py::object node = py::cast(to_node(number));
  if (!object || PyObject_GenericSetAttr(object.get(), node_name(), node.ptr()) < 0) return {};
  return object;
}

bool is_sym_number(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  const Classes& known = classes();
  return type == known.ours_int || type == known.ours_float || type == known.torch_float ||
         type == known.torch_bool || (type == known.torch_int && !is_ragged_size(object));
}

// A class of torch.nested, which a program that has such tensors has imported.
static bool is_ragged_node(PyObject* node) {
  static PyObject* const module_name = PyUnicode_InternFromString("torch.nested._internal.nested_int");
  if (std::string_view(Py_TYPE(node)->tp_name) != "NestedIntNode") return false;
  const auto type = reinterpret_cast<PyObject*>(Py_TYPE(node));
  const auto module = Ref<>::steal(PyObject_GetAttrString(type, "__module__"));
  if (!module) drop_error();
  return module && PyUnicode_Check(module.get()) && PyUnicode_Compare(module.get(), module_name) == 0;
}

bool is_ragged_size(PyObject* object) {
  if (Py_TYPE(object) != classes().torch_int) return is_ragged_node(object);
  const Ref<> node = Ref<>::steal(PyObject_GenericGetAttr(object, node_name()));
  if (!node) drop_error();
  return node && is_ragged_node(node.get());
}

std::optional<SymNumber> number_of(PyObject* object) {
  if (PyFloat_Check(object)) return SymNumber::of(PyFloat_AS_DOUBLE(object));
  if (PyLong_Check(object)) {
    int overflow = 0;
    const int64_t number = PyLong_AsLongLongAndOverflow(object, &overflow);
    // Beyond the integers that a float holds exactly, and far from what a sum could overflow.
    constexpr int64_t kMost = int64_t{1} << 52;
    if (overflow != 0 || number > kMost || number < -kMost) return std::nullopt;
    return SymNumber::of(Size(number));
  }
  if (!is_sym_number(object)) return std::nullopt;
  const c10::SymNode node = node_of(object);
  if (auto number = to_number(node)) return number;
  if (node->is_float()) return SymNumber::of(node->guard_float(__FILE__, __LINE__));
  return SymNumber::of(Size(node->is_int() ? node->guard_int(__FILE__, __LINE__)
                                           : static_cast<int64_t>(node->guard_bool(__FILE__, __LINE__))));
}

Ref<> in_place_of(PyObject* object) {
  const Classes& known = classes();
  PyTypeObject* type = Py_TYPE(object);
  try {
    if (is_ragged_size(object)) return {};
    if (type == known.torch_int || type == known.torch_float) return to_python(*number_of(object));
    if (type == known.torch_bool) return Ref<>::steal(PyBool_FromLong(node_of(object)->bool_()));
    if (object == reinterpret_cast<PyObject*>(known.ours_int))
      return Ref<>::share(reinterpret_cast<PyObject*>(&PyLong_Type));  // the answer of type(n)
    if (object == reinterpret_cast<PyObject*>(known.ours_float))
      return Ref<>::share(reinterpret_cast<PyObject*>(&PyFloat_Type));
    if (THPSize_Check(object) || (type == &PyTuple_Type && Py_REFCNT(object) == 1)) {
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); i++) {
        PyObject* item = PyTuple_GET_ITEM(object, i);
        if (Py_TYPE(item) != known.torch_int || is_ragged_size(item)) continue;
        Ref<> better = to_python(*number_of(item));
        if (!better) return {};
        PyTuple_SET_ITEM(object, i, better.release());
        Py_DECREF(item);
      }
    }
  } catch (const std::exception&) {
    raise_caught();
  }
  return {};
}

bool is_sym_number_code(PyCodeObject* code) {
  static const auto codes = [] {
    std::vector<PyObject*> found;
    for (PyTypeObject* type : {classes().torch_int, classes().torch_float, classes().torch_bool}) {
      const Ref<> init = Ref<>::steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__init__"));
      if (init && PyFunction_Check(init.get())) found.push_back(PyFunction_GET_CODE(init.get()));
      drop_error();
    }
    return found;
  }();
  return std::find(codes.begin(), codes.end(), reinterpret_cast<PyObject*>(code)) != codes.end();
}

}  // namespace stator
