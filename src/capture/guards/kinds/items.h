// capture/guards/kinds/items.h: the items of a set or a deque, in the order of iteration.
#ifndef STATOR_CAPTURE_GUARDS_KINDS_ITEMS_H
#define STATOR_CAPTURE_GUARDS_KINDS_ITEMS_H

#include "capture/guards/guard_kind.h"

namespace stator {

// A deque is compared last, when guards on what it held may have been checked: so those items are kept.
struct ItemsGuard {
  PyObject* container;
  std::vector<ExpectedValue> items;
  std::vector<Ref<>> kept;

  GuardKey key() const { return {container}; }
  bool holds(FoundByGuards) {
    size_t count = 0;
    const bool same = each_item(
        container, [&](PyObject* item) { return count < items.size() && items[count++].is_now(item); });
    return same && count == items.size();
  }
  std::string text() const { return "has the same " + std::to_string(items.size()) + " items"; }
  void words(GuardWords& words) const {
    if (!PyAnySet_Check(container)) return;
    auto* set = reinterpret_cast<PySetObject*>(container);
    words.add(&set->used);
    words.add(&set->table);
    for (Py_ssize_t i = 0; i <= set->mask; i++) {
      if (set->table[i].key != nullptr && set->table[i].hash != -1) words.add(&set->table[i].key);
    }
  }
  bool note_changes(Changes&) { return holds_still(*this); }
  template <class Visit>
  void each_expected(Visit&& visit) {
    for (ExpectedValue& item : items) visit(item);
  }
};

}  // namespace stator

#endif
