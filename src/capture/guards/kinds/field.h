// capture/guards/kinds/field.h: a field that C code keeps outside of any dictionary.
#ifndef STATOR_CAPTURE_GUARDS_KINDS_FIELD_H
#define STATOR_CAPTURE_GUARDS_KINDS_FIELD_H

#include "capture/guards/guard_kind.h"

namespace stator {

// A function's name or annotations, the name of a class, what a weak reference refers to.
struct FieldGuard {
  PyObject** field;
  const char* name;
  ExpectedValue content;

  GuardKey key() const { return {field}; }
  bool holds(FoundByGuards) { return content.is_now(*field); }
  std::string text() const { return std::string("has the same ") + name + ": " + text_of(content); }
  void words(GuardWords& words) const { words.add(field); }
  bool note_changes(Changes&) { return holds_still(*this); }
  template <class Visit>
  void each_expected(Visit&& visit) {
    visit(content);
  }
};

}  // namespace stator

#endif
