// capture/policy/native_table.h: what a C function of Python's own modules may do.
#ifndef STATOR_CAPTURE_POLICY_NATIVE_TABLE_H
#define STATOR_CAPTURE_POLICY_NATIVE_TABLE_H

#include <string>
#include <vector>

#include "capture/cpython/python.h"
#include "capture/policy/native_row.h"

namespace stator {

struct NativeCall {
  NativeEffect effect;
  Sees sees = {};
  Calls calls = {};
};

// Returns null if the callable is not in the table.
const NativeCall* find_native_call(PyObject* callable);

// Every function that a row names, as "module.type.name".
struct NamedFunction {
  std::string path;
  bool is_found;  // on this Python, and in no other row
};
const std::vector<NamedFunction>& named_functions();

}  // namespace stator

#endif
