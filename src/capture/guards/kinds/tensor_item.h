// capture/guards/kinds/tensor_item.h: a tensor that each call may find replaced.
#ifndef STATOR_CAPTURE_GUARDS_KINDS_TENSOR_ITEM_H
#define STATOR_CAPTURE_GUARDS_KINDS_TENSOR_ITEM_H

#include <memory>

#include "capture/domain.h"
#include "capture/guards/guard_kind.h"
#include "capture/guards/places.h"

namespace stator {

// In a dictionary or list, or in an attribute as GetterGuard's: it is an input like those among the
// arguments.
struct TensorItemGuard {
  PyObject* container;
  HeldKey place;
  std::string name;
  std::unique_ptr<TensorGuard> guard;

  GuardKey key() const { return {container, place.get()}; }
  bool holds(FoundByGuards found) {
    PyObject* const tensor = item_at(container, place);
    if (tensor == nullptr || !guard->holds(tensor, found.bindings)) return false;
    found.tensors.push_back(tensor);
    return true;
  }
  std::string text() const { return "[" + text_of(expect(place.get())) + "] is " + guard->expected(); }
  void words(GuardWords&) const {}
  bool note_changes(Changes& changes) {
    PyObject* const tensor = item_at(container, place);
    if (tensor != nullptr && changes.domain.is_tensor(tensor))
      changes.varying.note_sizes(name, guard->changed_sizes(tensor));
    return true;
  }
  template <class Visit>
  void each_expected(Visit&&) {}
};

}  // namespace stator

#endif
