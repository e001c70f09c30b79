// capture/recording/everything.cpp: all that C code may reach from an object that it is given.
//
// A walk over the object graph: containers nested to any depth, what views and iterators made here lead to,
// and the classes of instances, whose special methods C code calls. It ends at instances: C code comes to
// their attributes through Python code, which is captured as it runs.
#include <algorithm>

#include "capture/recording/argument_reads.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/contents.h"
#include "capture/recording/known_objects.h"
#include "capture/recording/object_kind.h"
#include "capture/recording/reads.h"
#include "capture/recording/recording.h"

namespace stator {
namespace {

using Objects = std::vector<PyObject*>;

bool ends_walk(const Recording& recording, PyObject* object) {
  return is_constant(object) || PyType_Check(object) || PyFunction_Check(object) || PyModule_Check(object) ||
         PyCFunction_Check(object) || recording.domain.is_immutable(object);
}

// The usual argument that is no tensor: sizes, dimensions.
bool holds_constants(PyObject* object) {
  if (!PyTuple_CheckExact(object)) return false;
  PyObject** const items = PySequence_Fast_ITEMS(object);
  return std::all_of(items, items + PyTuple_GET_SIZE(object), is_constant);
}

}  // namespace

bool read_deep(Recording& recording, PyObject* object) {
  if (object == nullptr || is_constant(object) || recording.walked.contains(object)) return true;
  if (recording.domain.is_tensor(object) || ends_walk(recording, object))
    return read_contents(recording, object);
  if (holds_constants(object) && find_argument(recording, object) == nullptr) return true;
  Objects left{object};
  WalkedObjects unknown;  // of this walk: nobody keeps their addresses
  while (!left.empty()) {
    PyObject* next = left.back();
    left.pop_back();
    if (is_constant(next) || recording.walked.contains(next)) continue;
    if (recording.domain.is_tensor(next) || ends_walk(recording, next)) {
      if (!read_contents(recording, next)) return false;
      continue;
    }
    const bool is_kept = reads_freely(recording, next) || is_pinned(recording, next);
    if (!(is_kept ? recording.walked : unknown).insert(next)) continue;
    if (!read_contents(recording, next)) {
      recording.walked.clear();
      return false;
    }
    of_kind<&ObjectKind::add_reached>(recording, next)(recording, next, left);
  }
  return true;
}

}  // namespace stator
