// capture/guards/places.cpp: what stands in a place.
#include "capture/guards/places.h"

#include "capture/cpython/exported.h"
#include "capture/cpython/interrupts.h"
#include "capture/guards/expected_value.h"

namespace stator {

PyObject* item_at(PyObject* container, PyObject* key) {
  if (PyDict_Check(container)) {
    PyObject* found = PyDict_GetItemWithError(container, key);
    if (found == nullptr) drop_error();
    return found;
  }
  if (PyCell_Check(container)) return PyCell_GET(container);
  if (!PyList_Check(container)) {
    // The container keeps what its getter gives.
    PyObject* descriptor = _PyType_Lookup(Py_TYPE(container), key);
    const Ref<> found = descriptor != nullptr ? read_getter(container, descriptor) : Ref<>();
    if (!found) drop_error();
    return found.get();
  }
  const Py_ssize_t index = PyLong_AsSsize_t(key);
  return index < PyList_GET_SIZE(container) ? PyList_GET_ITEM(container, index) : nullptr;
}

std::string place_name(const std::string& container, PyObject* key) {
  return container + "[" + text_of(expect(key)) + "]";
}

bool bind_number(PyObject* value, bool is_real, uint32_t symbol, shape::Bindings& bindings) {
  if (is_real) {
    if (!PyFloat_CheckExact(value)) return false;
    bindings.reals[symbol] = PyFloat_AS_DOUBLE(value);
    return true;
  }
  int overflow = 0;
  if (!PyLong_CheckExact(value)) return false;
  bindings.ints[symbol] = PyLong_AsLongLongAndOverflow(value, &overflow);
  return overflow == 0;
}

}  // namespace stator
