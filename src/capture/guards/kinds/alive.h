// capture/guards/kinds/alive.h: an object that is known by its address alone, and is alive.
#ifndef STATOR_CAPTURE_GUARDS_KINDS_ALIVE_H
#define STATOR_CAPTURE_GUARDS_KINDS_ALIVE_H

#include "capture/guards/guard_kind.h"

namespace stator {

// What such an object holds never changes, and no guard looks at it: another one at its address would be
// taken for it.
struct AliveGuard {
  PyObject* object;
  Ref<> reference;  // weak: the program may drop the object

  GuardKey key() const { return {object}; }
  bool holds(FoundByGuards) { return PyWeakref_GET_OBJECT(reference.get()) == object; }
  std::string text() const { return "is alive"; }
  void words(GuardWords& words) const {
    words.add(&reinterpret_cast<PyWeakReference*>(reference.get())->wr_object);
  }
  bool note_changes(Changes&) { return holds_still(*this); }
  template <class Visit>
  void each_expected(Visit&&) {}
};

}  // namespace stator

#endif
