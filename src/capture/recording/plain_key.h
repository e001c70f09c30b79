// capture/recording/plain_key.h: keys whose hashing and comparing run no code of the user's.
#ifndef STATOR_CAPTURE_RECORDING_PLAIN_KEY_H
#define STATOR_CAPTURE_RECORDING_PLAIN_KEY_H

#include "capture/guards/guard_set.h"

namespace stator {

// Its hash is its address, it equals only itself, and a guard need not keep it alive.
inline bool is_address_key(PyObject* key) {
  const PyTypeObject* type = Py_TYPE(key);
  return type->tp_hash == PyBaseObject_Type.tp_hash &&
         type->tp_richcompare == PyBaseObject_Type.tp_richcompare && PyObject_IS_GC(key) &&
         PyType_SUPPORTS_WEAKREFS(Py_TYPE(key));
}

// A member of an enumeration that leaves it to Python how it is hashed and compared.
bool is_enum_key(PyObject* key);

// A tuple, or of a class over tuple (named tuples, torch.Size) that hashes and compares as tuples do.
inline bool is_tuple_key(PyObject* key) {
  const PyTypeObject* type = Py_TYPE(key);
  return PyTuple_Check(key) && type->tp_hash == PyTuple_Type.tp_hash &&
         type->tp_richcompare == PyTuple_Type.tp_richcompare;
}

inline bool is_plain_key(PyObject* key) {
  if (is_constant(key) || PyType_Check(key) || PyFunction_Check(key) || PyCFunction_Check(key)) return true;
  if (is_enum_key(key)) return true;
  if (!is_tuple_key(key)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); i++) {
    if (!is_plain_key(PyTuple_GET_ITEM(key, i))) return false;
  }
  return true;
}

}  // namespace stator

#endif
