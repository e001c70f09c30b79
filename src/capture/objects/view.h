// capture/objects/view.h: views of mappings, which show them as they are now.
#ifndef STATOR_CAPTURE_OBJECTS_VIEW_H
#define STATOR_CAPTURE_OBJECTS_VIEW_H

#include "capture/recording/contents.h"
#include "capture/recording/object_kind.h"

namespace stator {

struct ViewKind {
  static bool includes(const Recording&, PyObject* object) { return is_view(object); }
  static const ObjectKind row;
};

}  // namespace stator

#endif
