// capture/guards/kinds/no_exception.h: the call does not come out of an except clause.
#ifndef STATOR_CAPTURE_GUARDS_KINDS_NO_EXCEPTION_H
#define STATOR_CAPTURE_GUARDS_KINDS_NO_EXCEPTION_H

#include "capture/guards/guard_kind.h"

namespace stator {

struct NoExceptionGuard {
  GuardKey key() const { return {}; }
  bool holds(FoundByGuards) { return !Ref<>::steal(PyErr_GetHandledException()); }
  std::string text() const { return "handles no exception"; }
  void words(GuardWords&) const {}
  bool note_changes(Changes&) { return holds_still(*this); }
  template <class Visit>
  void each_expected(Visit&&) {}
};

}  // namespace stator

#endif
