// capture/guards/kinds/getter.h: an attribute that a getter in C gives, the same object on every read.
#ifndef STATOR_CAPTURE_GUARDS_KINDS_GETTER_H
#define STATOR_CAPTURE_GUARDS_KINDS_GETTER_H

#include "capture/cpython/interrupts.h"
#include "capture/guards/guard_kind.h"

namespace stator {

struct GetterGuard {
  PyObject* object;
  PyObject* descriptor;
  Ref<> name;
  ExpectedValue content;

  GetterGuard(PyObject* object, PyObject* descriptor, PyObject* value)
      : object(object),
        descriptor(descriptor),
        name(Ref<>::share(PyDescr_NAME(descriptor))),
        content(expect(value)) {}

  GuardKey key() const { return {object, descriptor}; }
  bool holds(FoundByGuards) {
    const Ref<> value = now();
    return value && content.matches(value.get());
  }
  std::string text() const { return "." + utf8(name.get()) + " is " + text_of(content); }
  void words(GuardWords&) const {}
  bool note_changes(Changes& changes) {
    const Ref<> found = now();
    if (!found) return false;
    const bool same = content.matches(found.get());
    if (!changes.note(content, PyDescr_NAME(descriptor), found.get())) return false;
    if (!same) changes.replaced_getter = descriptor;
    return true;
  }
  template <class Visit>
  void each_expected(Visit&& visit) {
    visit(content);
  }

 private:
  Ref<> now() const {
    Ref<> value = read_getter(object, descriptor);
    if (!value) drop_error();
    return value;
  }
};

}  // namespace stator

#endif
