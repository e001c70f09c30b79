// capture/guards/kinds/set_layout.h: the table of a set: what later writes to it and pop() depend on, beside
// its items.
#ifndef STATOR_CAPTURE_GUARDS_KINDS_SET_LAYOUT_H
#define STATOR_CAPTURE_GUARDS_KINDS_SET_LAYOUT_H

#include "capture/cpython/set_table.h"
#include "capture/guards/guard_kind.h"

namespace stator {

struct SetLayoutGuard {
  PyObject* set;
  cpython::SetLayout layout;

  GuardKey key() const { return {set}; }
  bool holds(FoundByGuards) { return layout.is_of(set); }
  std::string text() const { return "has its items in the same slots"; }
  void words(GuardWords& words) const {
    layout.each_word(set, [&](const void* at) { words.add(at); });
  }
  bool note_changes(Changes&) { return holds_still(*this); }
  template <class Visit>
  void each_expected(Visit&&) {}  // the items, which the guard on them has
};

}  // namespace stator

#endif
