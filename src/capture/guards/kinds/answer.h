// capture/guards/kinds/answer.h: what a C function without arguments answers.
#ifndef STATOR_CAPTURE_GUARDS_KINDS_ANSWER_H
#define STATOR_CAPTURE_GUARDS_KINDS_ANSWER_H

#include "capture/cpython/interrupts.h"
#include "capture/guards/guard_kind.h"

namespace stator {

// A setting of the process, or how many classes were registered with abstract base classes.
struct AnswerGuard {
  Ref<> function;
  Ref<> answer;

  GuardKey key() const { return {function.get()}; }
  bool holds(FoundByGuards) {
    const auto now = Ref<>::steal(PyObject_CallNoArgs(function.get()));
    if (!now) drop_error();
    if (!now || Py_TYPE(now.get()) != Py_TYPE(answer.get())) return false;
    if (is_constant(answer.get())) return expect(answer.get()).matches(now.get());
    const int same = PyObject_RichCompareBool(now.get(), answer.get(), Py_EQ);  // a tuple of constants
    if (same < 0) drop_error();
    return same == 1;
  }
  std::string text() const { return "gives " + text_of(expect(answer.get())); }
  void words(GuardWords&) const {}
  bool note_changes(Changes&) { return holds_still(*this); }
  template <class Visit>
  void each_expected(Visit&&) {}  // made anew by each call
};

}  // namespace stator

#endif
