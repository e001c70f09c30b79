// capture/guards/function_spec.h: a function known by what it is made of, so that one that is made anew on
// every call is the same to its captures.
#ifndef STATOR_CAPTURE_GUARDS_FUNCTION_SPEC_H
#define STATOR_CAPTURE_GUARDS_FUNCTION_SPEC_H

#include <vector>

#include "capture/guards/guard_set.h"

namespace stator {

class FunctionSpec {
 public:
  explicit FunctionSpec(PyFunctionObject* function);
  // The same code, globals, defaults and contents of cells.
  bool matches(PyFunctionObject* function) const;

 private:
  PyObject* code_;
  PyObject* globals_;
  std::vector<Ref<>> keywords_;
  std::vector<ExpectedValue> parts_;
};

}  // namespace stator

#endif
