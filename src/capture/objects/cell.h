// capture/objects/cell.h: cells, the variables that functions share.
#ifndef STATOR_CAPTURE_OBJECTS_CELL_H
#define STATOR_CAPTURE_OBJECTS_CELL_H

#include "capture/recording/object_kind.h"

namespace stator {

struct CellKind {
  static bool includes(const Recording&, PyObject* object) { return PyCell_Check(object); }
  static const ObjectKind row;
};

}  // namespace stator

#endif
