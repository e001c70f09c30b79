// capture/guards/kinds/tuple_item.h: a tuple in a place, of which each call may bring other tensors and
// numbers.
#ifndef STATOR_CAPTURE_GUARDS_KINDS_TUPLE_ITEM_H
#define STATOR_CAPTURE_GUARDS_KINDS_TUPLE_ITEM_H

#include <algorithm>
#include <memory>
#include <optional>

#include "capture/domain.h"
#include "capture/guards/guard_kind.h"
#include "capture/guards/places.h"

namespace stator {

// The tensors in it, also in tuples inside of it, may be replaced; numbers in it are symbols, or compared as
// its other constants are.
struct TupleItemGuard {
  struct Part {
    std::string name;
    std::unique_ptr<TensorGuard> tensor;
    std::vector<Part> items;  // of a tuple
    std::optional<NumberBinding> number;
    ExpectedValue constant;  // of anything else
    bool is_tuple = false;

    bool holds(PyObject* value, FoundByGuards found) const {
      if (tensor) {
        if (!tensor->holds(value, found.bindings)) return false;
        found.tensors.push_back(value);
        return true;
      }
      if (number) return bind_number(value, number->is_real, number->symbol, found.bindings);
      if (!is_tuple) return constant.matches(value);
      if (!PyTuple_CheckExact(value) || PyTuple_GET_SIZE(value) != static_cast<Py_ssize_t>(items.size()))
        return false;
      for (size_t i = 0; i < items.size(); i++) {
        if (!items[i].holds(PyTuple_GET_ITEM(value, static_cast<Py_ssize_t>(i)), found)) return false;
      }
      return true;
    }
    // The sizes in which tensors differ, and numbers that do.
    void note_changes(PyObject* value, Changes& changes) const {
      if (tensor && changes.domain.is_tensor(value))
        changes.varying.note_sizes(name, tensor->changed_sizes(value));
      if (is_another_number(constant, value)) changes.varying.note_number(name);
      if (!is_tuple || !PyTuple_CheckExact(value)) return;
      const auto count = std::min(items.size(), static_cast<size_t>(PyTuple_GET_SIZE(value)));
      for (size_t i = 0; i < count; i++)
        items[i].note_changes(PyTuple_GET_ITEM(value, static_cast<Py_ssize_t>(i)), changes);
    }
  };
  PyObject* container;
  HeldKey place;
  Part whole;

  GuardKey key() const { return {container, place.get()}; }
  bool holds(FoundByGuards found) {
    PyObject* const value = item_at(container, place);
    return value != nullptr && whole.holds(value, found);
  }
  std::string text() const {
    return "[" + text_of(expect(place.get())) + "] is a tuple of " + std::to_string(whole.items.size()) +
           " like the captured one";
  }
  void words(GuardWords&) const {}
  bool note_changes(Changes& changes) {
    if (PyObject* const value = item_at(container, place)) whole.note_changes(value, changes);
    return true;
  }
  template <class Visit>
  void each_expected(Visit&&) {}
};

}  // namespace stator

#endif
