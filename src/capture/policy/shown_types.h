// capture/policy/shown_types.h: what C code puts into words of an instance of a type.
#ifndef STATOR_CAPTURE_POLICY_SHOWN_TYPES_H
#define STATOR_CAPTURE_POLICY_SHOWN_TYPES_H

#include "capture/cpython/python.h"

namespace stator {

enum class ShownAs {
  value,      // a number, a text, a name
  contents,   // what it holds
  address,    // where it lies, or nothing is known of it
  by_program  // Python code decides, which is captured as it runs
};

// By repr(), and by str().
ShownAs shown_by_repr(PyTypeObject* type);
ShownAs shown_by_str(PyTypeObject* type);

}  // namespace stator

#endif
