// capture/objects/weak_reference.h: weak references.
#ifndef STATOR_CAPTURE_OBJECTS_WEAK_REFERENCE_H
#define STATOR_CAPTURE_OBJECTS_WEAK_REFERENCE_H

#include "capture/recording/object_kind.h"

namespace stator {

struct WeakReferenceKind {
  static bool includes(const Recording&, PyObject* object) { return PyWeakref_CheckRefExact(object); }
  static const ObjectKind row;
};

}  // namespace stator

#endif
