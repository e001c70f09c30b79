// capture/recording/format_fields.h: what the fields of str.format() lead to.
#ifndef STATOR_CAPTURE_RECORDING_FORMAT_FIELDS_H
#define STATOR_CAPTURE_RECORDING_FORMAT_FIELDS_H

#include "capture/cpython/python.h"

namespace stator {

// Whether a field asks for an attribute of an argument: "{0.name}". C code reads it, which sees all items of
// containers but no attributes otherwise.
inline bool reads_attribute_in_field(PyObject* format) {
  const Py_ssize_t size = PyUnicode_GET_LENGTH(format);
  const auto at = [&](Py_ssize_t i) { return i < size ? PyUnicode_READ_CHAR(format, i) : 0; };
  bool in_name = false;
  for (Py_ssize_t i = 0; i < size; i++) {
    const Py_UCS4 c = at(i);
    if (c == '{') {
      in_name = at(i + 1) != '{';
      if (!in_name) i++;
    } else if (c == ':' || c == '!' || c == '}') {
      in_name = false;
    } else if (in_name && c == '.') {
      return true;
    }
  }
  return false;
}

}  // namespace stator

#endif
