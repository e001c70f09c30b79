// capture/objects/exception.h: exceptions.
#ifndef STATOR_CAPTURE_OBJECTS_EXCEPTION_H
#define STATOR_CAPTURE_OBJECTS_EXCEPTION_H

#include "capture/recording/object_kind.h"

namespace stator {

struct ExceptionKind {
  static bool includes(const Recording&, PyObject* object) { return PyExceptionInstance_Check(object); }
  static const ObjectKind row;
};

}  // namespace stator

#endif
