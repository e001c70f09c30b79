// capture/objects/sequence.cpp: what lists and tuples have in common.
#include "capture/objects/sequence.h"

#include "capture/recording/unread_holders.h"
#include "capture/recording/unread_value.h"

namespace stator {

void add_items(Recording&, PyObject* sequence, std::vector<PyObject*>& found) {
  PyObject** const items = PySequence_Fast_ITEMS(sequence);
  found.insert(found.end(), items, items + PySequence_Fast_GET_SIZE(sequence));
}

bool holds_unread_item(PyObject* sequence) {
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(sequence); i++) {
    if (is_unread(PySequence_Fast_GET_ITEM(sequence, i))) return true;
  }
  return false;
}

bool read_unread_items(Recording& recording, PyObject* sequence) {
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(sequence); i++) {
    PyObject*& item = PySequence_Fast_ITEMS(sequence)[i];
    if (item != unread_item() && !read_at(recording, item)) return false;
  }
  return true;
}

bool describe_items(Description& description, PyObject* sequence, std::vector<size_t>& parts) {
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(sequence); i++) {
    if (!description.add_part(parts, PySequence_Fast_GET_ITEM(sequence, i))) return false;
  }
  return true;
}

}  // namespace stator
