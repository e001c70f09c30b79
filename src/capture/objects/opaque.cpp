// capture/objects/opaque.cpp: modules, properties and wrappers of special methods: compared and called, not
// looked into.
#include "capture/objects/opaque.h"

namespace stator {

static bool read_nothing(Recording&, PyObject*) { return true; }

const ObjectKind OpaqueKind::row = {.read = read_nothing};

}  // namespace stator
