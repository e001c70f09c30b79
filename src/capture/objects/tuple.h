// capture/objects/tuple.h: tuples.
#ifndef STATOR_CAPTURE_OBJECTS_TUPLE_H
#define STATOR_CAPTURE_OBJECTS_TUPLE_H

#include "capture/recording/object_kind.h"

namespace stator {

// A tuple that an object of the run has made of its parts, and that it and the caller hold.
void take_made_tuple(Recording& recording, PyObject* tuple);

struct TupleKind {
  static bool includes(const Recording&, PyObject* object) { return PyTuple_Check(object); }
  static const ObjectKind row;
};

}  // namespace stator

#endif
