// capture/guards/expected_value.cpp: a value that a capture read, and how it is known again.
#include "capture/guards/expected_value.h"

#include "capture/cpython/interrupts.h"

namespace stator {

bool is_constant(PyObject* object) {
  return object == Py_None || PyBool_Check(object) || PyLong_CheckExact(object) ||
         PyFloat_CheckExact(object) || PyUnicode_CheckExact(object) || PyBytes_CheckExact(object) ||
         PyComplex_CheckExact(object) || object == Py_Ellipsis || object == Py_NotImplemented;
}

ExpectedValue expect(PyObject* object) {
  if (object != nullptr && is_constant(object)) return {object, Ref<>::share(object)};
  return {object, {}};
}

// No object of any program's.
static char any_object;

ExpectedValue ExpectedValue::anything() { return {reinterpret_cast<PyObject*>(&any_object), {}}; }

bool ExpectedValue::matches(PyObject* found) const {
  if (found == object || object == reinterpret_cast<PyObject*>(&any_object)) return true;
  if (!constant || found == nullptr || Py_TYPE(found) != Py_TYPE(constant.get())) return false;
  if (PyFloat_CheckExact(found)) {
    // By bits: 0.0 is not -0.0 to a program. A NaN equals nothing, in a container nothing but the very
    // object.
    const double a = PyFloat_AS_DOUBLE(found), b = PyFloat_AS_DOUBLE(constant.get());
    return __builtin_memcmp(&a, &b, sizeof a) == 0 && a == b;
  }
  if (PyComplex_CheckExact(found)) {
    const Py_complex a = PyComplex_AsCComplex(found), b = PyComplex_AsCComplex(constant.get());
    return __builtin_memcmp(&a, &b, sizeof a) == 0 && a.real == b.real && a.imag == b.imag;
  }
  return PyObject_RichCompareBool(found, constant.get(), Py_EQ) == 1;
}

bool ExpectedValue::is_now(PyObject* found) {
  if (!matches(found)) return false;
  if (constant && found != constant.get()) *this = expect(found);
  return true;
}

Ref<> read_getter(PyObject* object, PyObject* descriptor) {
  return Ref<>::steal(
      Py_TYPE(descriptor)->tp_descr_get(descriptor, object, reinterpret_cast<PyObject*>(Py_TYPE(object))));
}

Ref<> read_context_variable(PyObject* variable) {
  // Given as the default, it tells a variable that is not set from one that was set to its own default.
  static PyObject* const unset = PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type));
  PyObject* value = nullptr;
  if (PyContextVar_Get(variable, unset, &value) < 0) drop_error();
  return value != unset ? Ref<>::steal(value) : (Py_DECREF(value), Ref<>());
}

Ref<> read_slot(PyObject* object, PyObject* descriptor) {
  auto value = Ref<>::steal(
      Py_TYPE(descriptor)->tp_descr_get(descriptor, object, reinterpret_cast<PyObject*>(Py_TYPE(object))));
  if (!value) drop_error();  // an empty slot
  return value;
}

std::vector<ExpectedValue> expect_items(PyObject* container) {
  std::vector<ExpectedValue> items;
  each_item(container, [&](PyObject* item) {
    items.push_back(expect(item));
    return true;
  });
  return items;
}

std::string utf8(PyObject* text) {
  const char* found = text != nullptr && PyUnicode_Check(text) ? PyUnicode_AsUTF8(text) : nullptr;
  if (found == nullptr) drop_error();  // repr() looks for signals
  return found != nullptr ? found : "?";
}

std::string repr_of(PyObject* object) { return utf8(Ref<>::steal(PyObject_Repr(object)).get()); }

std::string text_of(const ExpectedValue& value) {
  if (value.constant) return repr_of(value.constant.get());
  return value.object == nullptr ? "<absent>" : "<the same object>";
}

}  // namespace stator
