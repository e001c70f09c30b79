// capture/guards/kinds/context_variable.h: what a context variable holds in the context of the call.
#ifndef STATOR_CAPTURE_GUARDS_KINDS_CONTEXT_VARIABLE_H
#define STATOR_CAPTURE_GUARDS_KINDS_CONTEXT_VARIABLE_H

#include "capture/guards/guard_kind.h"

namespace stator {

// Nothing where it is not set.
struct ContextVariableGuard {
  PyObject* variable;
  ExpectedValue content;

  GuardKey key() const { return {variable}; }
  bool holds(FoundByGuards) { return content.matches(read_context_variable(variable).get()); }
  std::string text() const { return "holds " + text_of(content); }
  void words(GuardWords&) const {}
  bool note_changes(Changes&) { return holds_still(*this); }
  template <class Visit>
  void each_expected(Visit&& visit) {
    visit(content);
  }
};

}  // namespace stator

#endif
