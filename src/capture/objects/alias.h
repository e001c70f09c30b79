// capture/objects/alias.h: `list[int]` and `int | None`.
#ifndef STATOR_CAPTURE_OBJECTS_ALIAS_H
#define STATOR_CAPTURE_OBJECTS_ALIAS_H

#include "capture/cpython/type_alias.h"
#include "capture/recording/object_kind.h"

namespace stator {

struct AliasKind {
  static bool includes(const Recording&, PyObject* object) { return cpython::is_type_alias(object); }
  static const ObjectKind row;
};

}  // namespace stator

#endif
