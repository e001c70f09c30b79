// capture/interpreter/operators.cpp: the operations on values that instructions name by number.
#include "capture/interpreter/operators.h"

#include "capture/cpython/exported.h"
#include "capture/cpython/number.h"
#include "capture/cpython/ref.h"

namespace stator {
namespace {

PyObject* two_operand_power(PyObject* left, PyObject* right) { return PyNumber_Power(left, right, Py_None); }
PyObject* two_operand_in_place_power(PyObject* left, PyObject* right) {
  return PyNumber_InPlacePower(left, right, Py_None);
}

constexpr binaryfunc kOperations[] = {
#define OPERATOR(name, operation, ...) operation,
#include "capture/bytecode/operators.def"
#define OPERATOR(name, operation, in_place, ...) in_place,
#include "capture/bytecode/operators.def"
};

}  // namespace

PyObject* binary_operation(int which, PyObject* left, PyObject* right) {
  return kOperations[which](left, right);
}

PyObject* subscript(PyObject* container, PyObject* key) {
  int64_t index;
  if (PyList_CheckExact(container) && cpython::small_int(key, index)) {
    const Py_ssize_t size = PyList_GET_SIZE(container);
    if (index < 0) index += size;
    if (index >= 0 && index < size) return Py_NewRef(PyList_GET_ITEM(container, index));
  } else if (PyTuple_CheckExact(container) && cpython::small_int(key, index)) {
    const Py_ssize_t size = PyTuple_GET_SIZE(container);
    if (index < 0) index += size;
    if (index >= 0 && index < size) return Py_NewRef(PyTuple_GET_ITEM(container, index));
  } else if (PyDict_CheckExact(container)) {
    PyObject* value = PyDict_GetItemWithError(container, key);
    if (value != nullptr) return Py_NewRef(value);
    if (!PyErr_Occurred()) _PyErr_SetKeyError(key);
    return nullptr;
  }
  return PyObject_GetItem(container, key);
}

PyObject* load_attribute(PyObject* owner, PyObject* name, InlineCache&) {
  return PyObject_GetAttr(owner, name);
}

bool load_method(PyObject* owner, PyObject* name, InlineCache&, PyObject** method) {
  return _PyObject_GetMethod(owner, name, method) != 0;
}

PyObject* load_super_attribute(PyObject* super, PyObject* type, PyObject* self, PyObject* name,
                               bool explicit_arguments) {
  // Without explicit arguments super() finds them in the running frame by itself.
  PyObject* arguments[] = {type, self};
  auto bound = Ref<>::steal(PyObject_Vectorcall(super, arguments, explicit_arguments ? 2 : 0, nullptr));
  return bound ? PyObject_GetAttr(bound.get(), name) : nullptr;
}

PyObject* append_string(PyObject* left, PyObject* right) {
  PyUnicode_Append(&left, right);
  return left;
}

}  // namespace stator
