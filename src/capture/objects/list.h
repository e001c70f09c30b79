// capture/objects/list.h: lists.
#ifndef STATOR_CAPTURE_OBJECTS_LIST_H
#define STATOR_CAPTURE_OBJECTS_LIST_H

#include "capture/program/description.h"
#include "capture/recording/object_kind.h"

namespace stator {

struct ListKind {
  static bool includes(const Recording&, PyObject* object) { return PyList_Check(object); }
  static const ObjectKind row;
};

// The items of a list, or of an instance of a class over list.
[[nodiscard]] bool describe_list_items(Description& description, size_t step, PyObject* list);

}  // namespace stator

#endif
