// capture/objects/builtin.h: functions in C, and methods bound to an object.
#ifndef STATOR_CAPTURE_OBJECTS_BUILTIN_H
#define STATOR_CAPTURE_OBJECTS_BUILTIN_H

#include "capture/recording/object_kind.h"

namespace stator {

struct BuiltinKind {
  static bool includes(const Recording&, PyObject* object) { return PyCFunction_Check(object); }
  static const ObjectKind row;
};

}  // namespace stator

#endif
