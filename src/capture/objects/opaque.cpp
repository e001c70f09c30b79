// capture/objects/opaque.cpp: modules, properties and wrappers of special methods: compared and called, not
// looked into.
#include "capture/objects/opaque.h"

#include "capture/recording/attributes.h"

namespace stator {

// Of these, modules alone can be given another class.
static bool read_class(Recording& recording, PyObject* object) {
  read_class_of(recording, object);
  return true;
}

const ObjectKind OpaqueKind::row = {.read = read_class};

}  // namespace stator
