// capture/cpython/number.h: the value of a small exact int, without a call.
#ifndef STATOR_CAPTURE_CPYTHON_NUMBER_H
#define STATOR_CAPTURE_CPYTHON_NUMBER_H

#include "capture/cpython/layout.h"

namespace stator::cpython {

// True and the value for an exact int of at most one digit (30 bits).
inline bool small_int(PyObject* object, int64_t& value) {
  if (!PyLong_CheckExact(object)) return false;
  auto* number = reinterpret_cast<PyLongObject*>(object);
#if STATOR_PY == 311
  const Py_ssize_t size = Py_SIZE(number);
  if (size < -1 || size > 1) return false;
  value = size * static_cast<int64_t>(number->ob_digit[0]);
  if (size == 0) value = 0;
#else
  if (!PyUnstable_Long_IsCompact(number)) return false;
  value = PyUnstable_Long_CompactValue(number);
#endif
  return true;
}

}  // namespace stator::cpython

#endif
