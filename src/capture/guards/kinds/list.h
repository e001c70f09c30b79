// capture/guards/kinds/list.h: the length of a list, and items of it.
#ifndef STATOR_CAPTURE_GUARDS_KINDS_LIST_H
#define STATOR_CAPTURE_GUARDS_KINDS_LIST_H

#include "capture/guards/guard_kind.h"

namespace stator {

struct ListGuard {
  PyObject* list;
  bool whole = false;
  std::vector<ExpectedValue> items;  // as many as the list has; those that were not read expect nothing

  GuardKey key() const { return {list}; }
  bool holds(FoundByGuards) {
    if (PyList_GET_SIZE(list) != static_cast<Py_ssize_t>(items.size())) return false;
    for (size_t i = 0; i < items.size(); i++) {
      if (items[i].object != nullptr && !items[i].is_now(PyList_GET_ITEM(list, i))) return false;
    }
    return true;
  }
  std::string text() const {
    const std::string count = std::to_string(items.size());
    if (whole) return "has the same " + count + " items";
    std::string all = "has " + count + " items";
    for (size_t i = 0; i < items.size(); i++) {
      if (items[i].object != nullptr) all += ", [" + std::to_string(i) + "] is " + text_of(items[i]);
    }
    return all;
  }
  void words(GuardWords& words) const {
    auto* object = reinterpret_cast<PyListObject*>(list);
    words.add(&object->ob_base.ob_size);
    words.add(&object->ob_item);
    for (size_t i = 0; i < items.size(); i++) {
      if (items[i].object != nullptr) words.add(&object->ob_item[i]);
    }
  }
  bool note_changes(Changes& changes) {
    if (PyList_GET_SIZE(list) != static_cast<Py_ssize_t>(items.size())) return false;
    for (size_t i = 0; i < items.size(); i++) {
      if (items[i].object == nullptr) continue;
      const Ref<> index = Ref<>::steal(PyLong_FromSize_t(i));
      if (index && !changes.note(items[i], index.get(), PyList_GET_ITEM(list, i))) return false;
    }
    return true;
  }
  template <class Visit>
  void each_expected(Visit&& visit) {
    for (ExpectedValue& item : items) visit(item);
  }
};

}  // namespace stator

#endif
