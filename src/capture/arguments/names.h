// capture/arguments/names.h: the arguments of a call as source expressions.
#ifndef STATOR_CAPTURE_ARGUMENTS_NAMES_H
#define STATOR_CAPTURE_ARGUMENTS_NAMES_H

#include <string>

#include "capture/arguments/call.h"
#include "capture/cpython/ref.h"

namespace stator {

// The code that a callable runs, where it is Python: of functions, methods, modules (`forward`) and objects
// with
// `__call__`. Made once per capture.
class ArgumentNames {
 public:
  explicit ArgumentNames(PyObject* callable);
  // `L["x"]`; `L["args"][1]` where the parameter takes the rest; `arg1` where nothing is known.
  std::string positional(Py_ssize_t position) const;
  static std::string keyword(PyObject* name);
  // Of a frame in the middle: `L["x"]` for variables, `stack[0]` for what lies on its stack.
  static std::string slot(const FramePlace& place, Py_ssize_t argument);

 private:
  Ref<PyCodeObject> code_;
  Py_ssize_t bound_ = 0;  // parameters that the callable fills itself: `self`
};

}  // namespace stator

#endif
