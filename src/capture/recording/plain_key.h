// capture/recording/plain_key.h: keys whose hashing and comparing run no code of the user's.
#ifndef STATOR_CAPTURE_RECORDING_PLAIN_KEY_H
#define STATOR_CAPTURE_RECORDING_PLAIN_KEY_H

#include "capture/guards/guard_set.h"

namespace stator {

inline bool is_plain_key(PyObject* key) {
  if (is_constant(key) || PyType_Check(key) || PyFunction_Check(key) || PyCFunction_Check(key)) return true;
  if (!PyTuple_CheckExact(key)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); i++) {
    if (!is_plain_key(PyTuple_GET_ITEM(key, i))) return false;
  }
  return true;
}

}  // namespace stator

#endif
