// capture/objects/slice.cpp: slices.
#include "capture/objects/slice.h"

#include "capture/program/description.h"

namespace stator {

static void add_bounds(Recording&, PyObject* object, std::vector<PyObject*>& found) {
  const auto* slice = reinterpret_cast<PySliceObject*>(object);
  found.insert(found.end(), {slice->start, slice->stop, slice->step});
}

static bool describe_slice(Description& description, size_t step, PyObject* object) {
  std::vector<PyObject*> bounds;
  add_bounds(description.recording, object, bounds);
  std::vector<size_t> parts;
  for (PyObject* bound : bounds) {
    if (!description.add_part(parts, bound)) return false;
  }
  description.make_whole(step, [parts = std::move(parts)](const Description::Values& values) {
    return Ref<>::steal(PySlice_New(values[parts[0]].get(), values[parts[1]].get(), values[parts[2]].get()));
  });
  return true;
}

const ObjectKind SliceKind::row = {.add_reached = add_bounds, .describe = describe_slice};

}  // namespace stator
