// capture/guards/kinds/type.h: what a class and its bases define.
#ifndef STATOR_CAPTURE_GUARDS_KINDS_TYPE_H
#define STATOR_CAPTURE_GUARDS_KINDS_TYPE_H

#include <memory>

#include "capture/guards/guard_kind.h"
#include "capture/guards/type_contents.h"

namespace stator {

struct TypeGuard {
  PyTypeObject* type;
  Ref<> alive;  // a weak reference, asked first: guards before this one need not prove that the class exists
  unsigned int version = 0;
  std::shared_ptr<const TypeContents> contents;  // compared where the version differs
  std::shared_ptr<const ApartNames> apart;       // attributes with guards of their own, or none

  GuardKey key() const { return {type}; }
  bool holds(FoundByGuards) {
    if (!is_alive()) return false;
    if (version != 0 && type->tp_version_tag == version) return true;
    if (!contents->match(type, apart.get())) return false;
    version = type_version(type);
    return true;
  }
  std::string text() const { return "is an unchanged class"; }
  void words(GuardWords& words) const {
    words.add(&reinterpret_cast<PyWeakReference*>(alive.get())->wr_object);
    // From 3.12 on a class that changed a thousand times gets no version any more.
    if (version == 0) {
      words.ask();
    } else {
      words.add(&type->tp_version_tag);  // and what fills the word up, which nobody writes
    }
  }
  // The attributes of a class, as stands_apart() of recording/class_attributes.h reaches them.
  bool note_changes(Changes& changes) {
    if (holds_still(*this)) return true;
    if (!is_alive()) return false;
    const auto differences = contents->differences(type, apart.get());
    if (!differences) return false;
    for (const TypeContents::Difference& each : *differences) {
      const ExpectedValue expected =
          each.old != nullptr ? expect(each.old) : ExpectedValue{each.old_address, {}};
      const char* const way = each.holder == type ? ".__dict__" : ".__mro__.__dict__";
      if (!changes.note(expected, each.name, each.now, way)) return false;
    }
    return true;
  }
  template <class Visit>
  void each_expected(Visit&&) {}

 private:
  bool is_alive() const { return PyWeakref_GET_OBJECT(alive.get()) == reinterpret_cast<PyObject*>(type); }
};

}  // namespace stator

#endif
