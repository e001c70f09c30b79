// capture/guards/kinds/tuple.h: the items of a tuple.
#ifndef STATOR_CAPTURE_GUARDS_KINDS_TUPLE_H
#define STATOR_CAPTURE_GUARDS_KINDS_TUPLE_H

#include "capture/guards/guard_kind.h"

namespace stator {

// What never changes is known by its address, but another object may get that address once it is gone. So a
// tuple is looked at again; one that holds nothing but constants is kept.
struct TupleGuard {
  PyObject* tuple;
  PyTypeObject* type;
  std::vector<ExpectedValue> items;

  explicit TupleGuard(PyObject* tuple) : tuple(tuple), type(Py_TYPE(tuple)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++)
      items.push_back(expect(PyTuple_GET_ITEM(tuple, i)));
  }

  GuardKey key() const { return {tuple}; }
  bool holds(FoundByGuards) {
    if (Py_TYPE(tuple) != type || PyTuple_GET_SIZE(tuple) != static_cast<Py_ssize_t>(items.size()))
      return false;
    for (size_t i = 0; i < items.size(); i++) {
      if (!items[i].is_now(PyTuple_GET_ITEM(tuple, i))) return false;
    }
    return true;
  }
  std::string text() const { return "has the same " + std::to_string(items.size()) + " items"; }
  void words(GuardWords& words) const {
    auto* object = reinterpret_cast<PyTupleObject*>(tuple);
    words.add(&tuple->ob_type);
    words.add(&object->ob_base.ob_size);
    for (size_t i = 0; i < items.size(); i++) words.add(&object->ob_item[i]);
  }
  bool note_changes(Changes& changes) {
    if (!changes.is_gone(tuple)) return holds_still(*this);
    for (const ExpectedValue& item : items) changes.note_gone(item.object);
    return true;
  }
  template <class Visit>
  void each_expected(Visit&& visit) {
    for (ExpectedValue& item : items) visit(item);
  }
};

}  // namespace stator

#endif
