// capture/guards/kinds/slot.h: a slot of an instance, read through the member descriptor of its class.
#ifndef STATOR_CAPTURE_GUARDS_KINDS_SLOT_H
#define STATOR_CAPTURE_GUARDS_KINDS_SLOT_H

#include "capture/cpython/python_class.h"
#include "capture/guards/guard_kind.h"

namespace stator {

struct SlotGuard {
  PyObject* object;
  PyObject* descriptor;
  ExpectedValue content;

  GuardKey key() const { return {object, descriptor}; }
  bool holds(FoundByGuards) { return content.is_now(read_slot(object, descriptor).get()); }
  std::string text() const { return "has a slot that holds " + text_of(content); }
  void words(GuardWords& words) const {
    const PyMemberDef* member = reinterpret_cast<PyMemberDescrObject*>(descriptor)->d_member;
    words.add(reinterpret_cast<const char*>(object) + member->offset);
  }
  bool note_changes(Changes& changes) {
    return changes.note(content, PyDescr_NAME(descriptor), read_slot(object, descriptor).get());
  }
  template <class Visit>
  void each_expected(Visit&& visit) {
    visit(content);
  }
};

}  // namespace stator

#endif
