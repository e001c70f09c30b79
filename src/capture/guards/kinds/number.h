// capture/guards/kinds/number.h: a number in a dictionary or cell that is a symbol of the capture.
#ifndef STATOR_CAPTURE_GUARDS_KINDS_NUMBER_H
#define STATOR_CAPTURE_GUARDS_KINDS_NUMBER_H

#include "capture/guards/guard_kind.h"
#include "capture/guards/places.h"

namespace stator {

struct NumberGuard {
  PyObject* container;
  HeldKey place;
  NumberBinding number;

  GuardKey key() const { return {container, place.get()}; }
  bool holds(FoundByGuards found) {
    PyObject* const value = item_at(container, place);
    return value != nullptr && bind_number(value, number.is_real, number.symbol, found.bindings);
  }
  std::string text() const {
    return "[" + text_of(expect(place.get())) + "] is " + (number.is_real ? "a float" : "an int");
  }
  void words(GuardWords&) const {}
  bool note_changes(Changes&) {
    shape::Bindings bindings;
    PyObject* const value = item_at(container, place);
    return value != nullptr && bind_number(value, number.is_real, number.symbol, bindings);
  }
  template <class Visit>
  void each_expected(Visit&&) {}
};

}  // namespace stator

#endif
