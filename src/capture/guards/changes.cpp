// capture/guards/changes.cpp: in what a call that no capture serves differs from the captured one.
#include "capture/guards/changes.h"

#include "capture/guards/places.h"

namespace stator {

bool may_be_replaced(const Domain& domain, PyObject* tuple) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
    PyObject* item = PyTuple_GET_ITEM(tuple, i);
    const bool may = PyTuple_CheckExact(item) ? may_be_replaced(domain, item)
                                              : domain.is_tensor(item) || is_constant(item);
    if (!may) return false;
  }
  return true;
}

bool is_another_number(const ExpectedValue& expected, PyObject* found) {
  PyObject* constant = expected.constant.get();
  return constant != nullptr && Py_TYPE(found) == Py_TYPE(constant) &&
         (PyLong_CheckExact(found) || PyFloat_CheckExact(found)) && !expected.matches(found);
}

bool Changes::note(const ExpectedValue& expected, PyObject* key, PyObject* found, const char* way) {
  if (expected.object == nullptr) return found == nullptr;
  if (expected.matches(found)) return true;
  if (found == nullptr) return false;
  const bool is_number = is_another_number(expected, found);
  const bool is_tensor = !expected.constant && domain.is_tensor(found);
  const bool is_tuple = !expected.constant && PyTuple_CheckExact(found) && may_be_replaced(domain, found);
  if (!is_number && !is_tensor && !is_tuple) return false;
  const std::string name = place_name(texts_.text(source_) + way, key);
  if (is_number) {
    varying.note_number(name);
  } else {
    varying.note_tensor(name);
    note_gone(expected.object);
  }
  return true;
}

}  // namespace stator
