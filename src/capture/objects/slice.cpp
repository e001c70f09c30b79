// capture/objects/slice.cpp: slices.
#include "capture/objects/slice.h"

namespace stator {

static void add_bounds(Recording&, PyObject* object, std::vector<PyObject*>& found) {
  const auto* slice = reinterpret_cast<PySliceObject*>(object);
  found.insert(found.end(), {slice->start, slice->stop, slice->step});
}

const ObjectKind SliceKind::row = {.add_reached = add_bounds};

}  // namespace stator
