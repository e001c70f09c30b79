// capture/objects/items.h: what sets and deques have in common: items in an order that only iterating shows.
#ifndef STATOR_CAPTURE_OBJECTS_ITEMS_H
#define STATOR_CAPTURE_OBJECTS_ITEMS_H

#include "capture/recording/recording.h"

namespace stator {

// Guards its items. `entry` is what the container held at entry, or nullptr where nobody kept that.
[[nodiscard]] bool read_items_at_entry(Recording& recording, PyObject* container, PyObject* entry);
void add_iterated_items(Recording& recording, PyObject* container, std::vector<PyObject*>& found);

}  // namespace stator

#endif
