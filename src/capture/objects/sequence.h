// capture/objects/sequence.h: what lists and tuples have in common: items, one behind the other.
#ifndef STATOR_CAPTURE_OBJECTS_SEQUENCE_H
#define STATOR_CAPTURE_OBJECTS_SEQUENCE_H

#include "capture/program/description.h"

namespace stator {

void add_items(Recording& recording, PyObject* sequence, std::vector<PyObject*>& found);
bool holds_unread_item(PyObject* sequence);
// Items that a container of the arguments had at entry, and nobody asked for, stay as they are.
[[nodiscard]] bool read_unread_items(Recording& recording, PyObject* sequence);
// Adds the steps of its items to the parts. False: stopped.
[[nodiscard]] bool describe_items(Description& description, PyObject* sequence, std::vector<size_t>& parts);

}  // namespace stator

#endif
