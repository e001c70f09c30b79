// capture/guards/kinds/function.h: what a Python function is made of.
#ifndef STATOR_CAPTURE_GUARDS_KINDS_FUNCTION_H
#define STATOR_CAPTURE_GUARDS_KINDS_FUNCTION_H

#include "capture/guards/guard_kind.h"

namespace stator {

struct FunctionGuard {
  PyFunctionObject* function;
  PyObject *code, *defaults, *keyword_defaults, *closure, *globals;

  explicit FunctionGuard(PyFunctionObject* function)
      : function(function),
        code(function->func_code),
        defaults(function->func_defaults),
        keyword_defaults(function->func_kwdefaults),
        closure(function->func_closure),
        globals(function->func_globals) {}

  GuardKey key() const { return {function}; }
  bool holds(FoundByGuards) {
    return PyFunction_Check(reinterpret_cast<PyObject*>(function)) && function->func_code == code &&
           function->func_defaults == defaults && function->func_kwdefaults == keyword_defaults &&
           function->func_closure == closure && function->func_globals == globals;
  }
  std::string text() const { return "has the same code and defaults"; }
  void words(GuardWords& words) const {
    words.add(&function->func_code);
    words.add(&function->func_defaults);
    words.add(&function->func_kwdefaults);
    words.add(&function->func_closure);
    words.add(&function->func_globals);
  }
  bool note_changes(Changes&) { return holds_still(*this); }
  template <class Visit>
  void each_expected(Visit&&) {}
};

}  // namespace stator

#endif
