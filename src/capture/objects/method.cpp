// capture/objects/method.cpp: bound methods of Python classes: a function and the object that it is given.
#include "capture/objects/method.h"

#include "capture/program/description.h"
#include "capture/recording/known_objects.h"

namespace stator {
namespace {

void pin_self(Recording& recording, PyObject* method) {
  if (is_pinned(recording, method))
    pin(recording, PyMethod_GET_SELF(method),
        {Origin::attribute, method, Ref<>::steal(PyUnicode_FromString("__self__"))});
}

void add_self(Recording&, PyObject* method, std::vector<PyObject*>& found) {
  found.push_back(PyMethod_GET_SELF(method));
}

bool describe_method(Description& description, size_t step, PyObject* method) {
  std::vector<size_t> parts;
  if (!description.add_part(parts, PyMethod_GET_FUNCTION(method)) ||
      !description.add_part(parts, PyMethod_GET_SELF(method)))
    return false;
  description.make_whole(step, [function = parts[0], self = parts[1]](const Description::Values& values) {
    return Ref<>::steal(PyMethod_New(values[function].get(), values[self].get()));
  });
  return true;
}

}  // namespace

const ObjectKind MethodKind::row = {
    .pin_parts = pin_self, .add_reached = add_self, .describe = describe_method};

}  // namespace stator
