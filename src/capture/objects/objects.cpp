// capture/objects/objects.cpp: finding the kind of an object.
#include "capture/objects/alias.h"
#include "capture/objects/array.h"
#include "capture/objects/builtin.h"
#include "capture/objects/cell.h"
#include "capture/objects/class.h"
#include "capture/objects/deque.h"
#include "capture/objects/dict.h"
#include "capture/objects/exception.h"
#include "capture/objects/function.h"
#include "capture/objects/instance.h"
#include "capture/objects/iterator.h"
#include "capture/objects/list.h"
#include "capture/objects/method.h"
#include "capture/objects/number.h"
#include "capture/objects/opaque.h"
#include "capture/objects/partial.h"
#include "capture/objects/set.h"
#include "capture/objects/slice.h"
#include "capture/objects/tensor.h"
#include "capture/objects/tuple.h"
#include "capture/objects/view.h"
#include "capture/objects/weak_reference.h"

namespace stator {

const ObjectKind& kind_of(const Recording& recording, PyObject* object) {
#define OBJECT_KIND(kind, file) \
  if (kind::includes(recording, object)) return kind::row;
#include "capture/objects/objects.def"
  return any_instance;
}

}  // namespace stator
