// capture/recording/plain_key.cpp: members of enumerations as keys.
#include "capture/recording/plain_key.h"

#include <string_view>

#include "capture/cpython/exported.h"

namespace stator {

bool is_enum_key(PyObject* key) {
  PyTypeObject* type = Py_TYPE(key);
  if (std::string_view(Py_TYPE(type)->tp_name) != "EnumType") return false;
  const auto is_one_of = [](auto* slot, auto PyTypeObject::*member) {
    return slot == PyLong_Type.*member || slot == PyUnicode_Type.*member || slot == PyFloat_Type.*member;
  };
  if (type->tp_richcompare != PyBaseObject_Type.tp_richcompare &&
      !is_one_of(type->tp_richcompare, &PyTypeObject::tp_richcompare))
    return false;
  if (is_one_of(type->tp_hash, &PyTypeObject::tp_hash)) return true;
  static PyObject* const name = PyUnicode_InternFromString("__hash__");
  PyObject* hash = _PyType_Lookup(type, name);
  if (hash == nullptr || !PyFunction_Check(hash)) return false;
  PyObject* module = reinterpret_cast<PyFunctionObject*>(hash)->func_module;
  return module != nullptr && PyUnicode_Check(module) &&
         PyUnicode_CompareWithASCIIString(module, "enum") == 0;
}

}  // namespace stator
