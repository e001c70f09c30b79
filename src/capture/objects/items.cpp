// capture/objects/items.cpp: what sets and deques have in common.
#include "capture/objects/items.h"

#include "capture/recording/capture_stop.h"
#include "capture/recording/known_objects.h"

namespace stator {

bool read_items_at_entry(Recording& recording, PyObject* container, PyObject* entry) {
  if (recording.guards.has<ItemsGuard>(container)) return true;
  if (entry == nullptr) {
    return stop(recording, BreakCode::kUnguardable,
                std::string("a ") + Py_TYPE(container)->tp_name + " is looked through after a write to it");
  }
  ItemsGuard guard{container, expect_items(entry), {}};
  for (size_t i = 0; i < guard.items.size(); i++) {
    if (!PyAnySet_Check(container)) guard.kept.push_back(Ref<>::share(guard.items[i].object));
    pin(recording, guard.items[i].object, {Origin::item, container, Ref<>::steal(PyLong_FromSize_t(i))});
  }
  recording.guards.add(std::move(guard), container);
  return true;
}

void add_iterated_items(Recording&, PyObject* container, std::vector<PyObject*>& found) {
  for (const ExpectedValue& item : expect_items(container)) found.push_back(item.object);
}

}  // namespace stator
