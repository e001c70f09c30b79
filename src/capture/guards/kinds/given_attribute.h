// capture/guards/kinds/given_attribute.h: an attribute in the dictionary of a tensor that the call brings.
#ifndef STATOR_CAPTURE_GUARDS_KINDS_GIVEN_ATTRIBUTE_H
#define STATOR_CAPTURE_GUARDS_KINDS_GIVEN_ATTRIBUTE_H

#include <memory>

#include "capture/cpython/exported.h"
#include "capture/cpython/instance_values.h"
#include "capture/guards/guard_kind.h"
#include "capture/guards/places.h"

namespace stator {

// A constant, or its absence.
struct GivenAttributeGuard {
  std::shared_ptr<const size_t> tensor;  // its number among those that the call brings
  std::string tensor_name;
  Ref<> name;
  ExpectedValue value;

  GuardKey key() const { return {name.get(), tensor.get()}; }
  bool holds(FoundByGuards found) {
    PyObject* const given = found.tensors[*tensor];
    if (stator_has_no_attributes(given)) return value.matches(nullptr);
    PyObject** const dict = _PyObject_GetDictPtr(given);
    return value.matches(dict != nullptr && *dict != nullptr ? item_at(*dict, name.get()) : nullptr);
  }
  std::string text() const {
    return "gives " + tensor_name + " whose " + utf8(name.get()) + " is " + text_of(value);
  }
  void words(GuardWords&) const {}
  bool note_changes(Changes&) { return true; }
  template <class Visit>
  void each_expected(Visit&&) {}  // compared by value with what the call brings
};

}  // namespace stator

#endif
